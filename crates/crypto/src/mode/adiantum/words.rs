//! A vector of 32-bit words, whatever its width: the type that ChaCha and NH are written in.
//!
//! A value exists only where the CPU has the instructions, because every way to make one
//! takes the width's proof; that is why the methods are safe. They are always inlined,
//! into functions compiled for those instructions.

/// [`Words::LANES`] words in one register.
pub(super) trait Words: Copy {
    /// Evidence that the CPU has the instructions of this width.
    type Proof: Copy;

    /// Sums of products: 64-bit lanes in one register.
    type Sums: Copy;

    /// Words per register: 4, 8 or 16.
    const LANES: usize;

    /// The same word in every lane.
    fn splat(proof: Self::Proof, word: u32) -> Self;

    /// The first [`Words::LANES`] words.
    fn load(proof: Self::Proof, words: &[u32]) -> Self;

    /// Writes the words to the start of `words`.
    fn store(self, words: &mut [u32]);

    /// `first` in the lower half of the lanes, `second` in the upper half.
    #[inline(always)]
    fn halves(proof: Self::Proof, first: u32, second: u32) -> Self {
        let mut words = [second; MOST_LANES];
        words[..Self::LANES / 2].fill(first);
        Self::load(proof, &words)
    }

    /// Sums modulo 2^32.
    fn add(self, other: Self) -> Self;

    fn xor(self, other: Self) -> Self;

    /// Each lane rotated left by 16 bits.
    fn rotate_16(self) -> Self;

    /// Each lane rotated left by 12 bits.
    fn rotate_12(self) -> Self;

    /// Each lane rotated left by 8 bits.
    fn rotate_8(self) -> Self;

    /// Each lane rotated left by 7 bits.
    fn rotate_7(self) -> Self;

    /// Adds key stream to `64 * LANES` bytes: lane `n` of the sixteen
    /// registers is the n-th block of 64 bytes.
    fn xor_blocks(stream: [Self; 16], data: &mut [u8]);

    /// The first and the second halves (two words each) of `LANES / 2`
    /// units of 16 bytes, each in the units' order.
    fn load_units(proof: Self::Proof, units: &[u8]) -> (Self, Self);

    /// No products yet.
    fn no_sums(proof: Self::Proof) -> Self::Sums;

    /// Adds the 64-bit product of each pair of lanes to one of the sums, modulo 2^64.
    fn multiply_add(self, other: Self, sums: Self::Sums) -> Self::Sums;

    /// The lanes of each register added up.
    fn totals(sums: [Self::Sums; 4]) -> [u64; 4];
}

/// Words in the widest register.
pub(super) const MOST_LANES: usize = 16;
