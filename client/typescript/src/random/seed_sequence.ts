/** NumPy's SeedSequence: spreads a seed of any size over as many random bits as a generator starts with. */

const POOL_WORDS = 4;
const INIT_A = 0x43b0d7e5;
const MULT_A = 0x931e8875;
const INIT_B = 0x8b51f9dd;
const MULT_B = 0x58f38ded;
const MIX_MULT_L = 0xca01f9dd;
const MIX_MULT_R = 0x4973f715;

/** Returns the first `count` 64-bit words of the state that NumPy's SeedSequence(seed) generates. */
export function seedWords(seed: bigint, count: number): bigint[] {
  const words = stateWords(mixedPool(entropyWords(seed)), 2 * count);
  return Array.from({ length: count }, (_, index) => {
    const [low, high] = [words[2 * index] as number, words[2 * index + 1] as number];
    return (BigInt(high) << 32n) | BigInt(low);
  });
}

function entropyWords(seed: bigint): number[] {
  if (seed < 0n) throw new RangeError(`a seed is a non-negative integer, not ${seed}`);
  const words = [Number(seed & 0xffffffffn)];
  for (let rest = seed >> 32n; rest > 0n; rest >>= 32n) words.push(Number(rest & 0xffffffffn));
  return words;
}

/** A hash whose constant goes on with each word. */
class Hash {
  constructor(
    private constant: number,
    private readonly multiplier: number,
  ) {}

  of(word: number): number {
    const mixed = word ^ this.constant;
    this.constant = Math.imul(this.constant, this.multiplier);
    const product = Math.imul(mixed, this.constant);
    return (product ^ (product >>> 16)) >>> 0;
  }
}

function mix(x: number, y: number): number {
  const result = (Math.imul(MIX_MULT_L, x) - Math.imul(MIX_MULT_R, y)) | 0;
  return (result ^ (result >>> 16)) >>> 0;
}

function mixedPool(entropy: number[]): number[] {
  const hash = new Hash(INIT_A, MULT_A);
  const pool = Array.from({ length: POOL_WORDS }, (_, index) => hash.of(entropy[index] ?? 0));
  for (let source = 0; source < POOL_WORDS; source++) {
    for (let target = 0; target < POOL_WORDS; target++)
      if (source !== target) pool[target] = mix(pool[target] as number, hash.of(pool[source] as number));
  }
  for (const word of entropy.slice(POOL_WORDS)) {
    for (let target = 0; target < POOL_WORDS; target++)
      pool[target] = mix(pool[target] as number, hash.of(word));
  }
  return pool;
}

function stateWords(pool: number[], count: number): number[] {
  const hash = new Hash(INIT_B, MULT_B);
  return Array.from({ length: count }, (_, index) => hash.of(pool[index % POOL_WORDS] as number));
}
