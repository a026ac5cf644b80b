// What keeps a page from being read, each as a list of sentences.

const visible = it => it.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true });
const short = it => it.textContent.trim().slice(0, 60);

// Wider than the window: on a phone the whole page would slide sideways.
function overflow() {
  const root = document.documentElement;
  if (root.scrollWidth <= root.clientWidth) return [];
  const wide = [...document.querySelectorAll('body *')]
    .filter(it => visible(it) && !it.closest('.scroll table') && it.getBoundingClientRect().right > root.clientWidth + 0.5);
  return [`${root.scrollWidth} of ${root.clientWidth}`, ...wide.slice(0, 5).map(it => `${it.tagName}.${it.className}: ${short(it)}`)];
}

// Relative luminance and contrast as WCAG 2.2 has them.
const channels = colour => colour.match(/[\d.]+/g).map(Number);
function luminance(colour) {
  const [r, g, b] = channels(colour).map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function ratio(a, b) {
  const [x, y] = [luminance(a), luminance(b)];
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

// The colour behind an element: in a drawing the last block under the text's middle, else the nearest ancestor's.
function ground(element) {
  const svg = element.closest('svg');
  if (svg) {
    const box = element.getBoundingClientRect();
    const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
    const under = [...svg.querySelectorAll('rect')].filter(it => {
      const b = it.getBoundingClientRect();
      const before = it.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING;
      return before && b.left <= x && x <= b.right && b.top <= y && y <= b.bottom;
    });
    if (under.length) return getComputedStyle(under.at(-1)).fill;
  }
  for (let it = element; it; it = it.parentElement) {
    const colour = getComputedStyle(it).backgroundColor;
    if ((channels(colour)[3] ?? 1) === 1) return colour;
  }
  return 'rgb(255, 255, 255)';
}

function contrast() {
  const low = [];
  const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let seen = 0;
  while (nodes.nextNode()) {
    const element = nodes.currentNode.parentElement;
    if (!nodes.currentNode.data.trim() || ['title', 'desc', 'STYLE'].includes(element.tagName) || !visible(element)) continue;
    seen += 1;
    const style = getComputedStyle(element);
    const colour = element.closest('svg') ? style.fill : style.color;
    const found = ratio(colour, ground(element));
    if (found < 4.5) low.push(`${found.toFixed(2)}: ${short(element)} (${colour} on ${ground(element)})`);
  }
  return seen > 20 ? low : [`only ${seen} texts are seen`];
}

// Texts that leave their drawing, or stand upon each other.
function drawings() {
  const bad = [];
  for (const svg of [...document.querySelectorAll('svg')].filter(visible)) {
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll('text')].map(it => [it, it.getBoundingClientRect()]);
    const name = svg.querySelector('title').textContent;
    texts.forEach(([text, box], number) => {
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 2 || box.bottom > frame.bottom + 1)
        bad.push(`${name}: "${short(text)}" leaves the drawing`);
      for (const [other, beside] of texts.slice(number + 1)) {
        const across = Math.min(box.right, beside.right) - Math.max(box.left, beside.left);
        const down = Math.min(box.bottom, beside.bottom) - Math.max(box.top, beside.top);
        // Boxes of lines have room above and below their letters.
        if (across > 1 && down > 0.35 * Math.min(box.height, beside.height))
          bad.push(`${name}: "${short(text)}" and "${short(other)}" stand upon each other`);
      }
    });
    if (texts.length && texts[0][1].height < 8) bad.push(`${name}: letters are ${texts[0][1].height} high`);
  }
  return bad;
}

// What has no name for those who do not see it.
function names() {
  const bad = [];
  for (const svg of document.querySelectorAll('svg'))
    if (svg.getAttribute('role') !== 'img' || !svg.querySelector(':scope > title')?.textContent) bad.push('a drawing without a name');
  for (const input of document.querySelectorAll('input'))
    if (!input.labels.length) bad.push(`${input.id} has no label`);
  for (const region of document.querySelectorAll('[role=region]'))
    if (!region.getAttribute('aria-label')) bad.push('a region without a name');
  for (const table of document.querySelectorAll('table'))
    if (!table.querySelector('th[scope=col]') || !table.querySelector('th[scope=row]')) bad.push('a table without heads');
  if (!document.documentElement.lang) bad.push('no language');
  let last = 1;
  for (const title of document.querySelectorAll('h1,h2,h3')) {
    const level = Number(title.tagName[1]);
    if (level > last + 1) bad.push(`${short(title)}: a level is left out`);
    last = level;
  }
  return bad;
}
