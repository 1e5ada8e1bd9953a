// Shuffle sharding: each flow gets a hand of queues, and uses the shortest one. Two flows rarely
// have the same hand, so that a flow that fills its queues leaves others a free one.

/**
 * Returns a hand of `size` different numbers from 0 to `deck` - 1, which depends on the hash alone.
 * `hash` is to be evenly distributed, and `size` at most `deck`.
 */
export function dealHand(hash: bigint, deck: number, size: number): readonly number[] {
  const cards = Array.from({ length: deck }, (_, card) => card);
  let entropy = hash;
  for (let dealt = 0; dealt < size; dealt++) {
    const left = BigInt(deck - dealt);
    const chosen = dealt + Number(entropy % left);
    entropy /= left;
    [cards[dealt], cards[chosen]] = [cards[chosen]!, cards[dealt]!];
  }
  return cards.slice(0, size);
}
