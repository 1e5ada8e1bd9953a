// The seconds after which rejected clients may try again. They double while requests keep being
// rejected, and decrease one by one when that ends.

const MAX_SECONDS = 32;
/** Rejections per second of the current delay that double the delay. */
const MANY = 3;

export class RetryAfter {
  #seconds = 1;
  #doubledAt = Number.NEGATIVE_INFINITY;
  /** Rejections by second, the current one last. Not older than twice the delay. */
  #history: { readonly second: number; count: number }[] = [];

  /** Records a rejection, and returns its delay in seconds. `now`: monotonic ms. */
  rejected(now: number): number {
    const second = Math.floor(now / 1000);
    const latest = this.#history.at(-1);
    if (latest?.second === second) {
      latest.count++;
      return this.#seconds;
    }
    if (latest !== undefined) this.#adjust(second);
    this.#history.push({ second, count: 1 });
    return this.#seconds;
  }

  #adjust(second: number): void {
    const oldest = second - Math.min(2 * this.#seconds, MAX_SECONDS);
    this.#history = this.#history.filter((entry) => entry.second >= oldest);
    const recent = this.#history
      .filter((entry) => second - entry.second <= this.#seconds)
      .reduce((sum, { count }) => sum + count, 0);
    if (second - this.#doubledAt >= this.#seconds && recent >= MANY * this.#seconds) {
      this.#seconds = Math.min(2 * this.#seconds, MAX_SECONDS);
      this.#doubledAt = second;
    } else if (recent < this.#seconds && this.#seconds > 1) this.#seconds--;
  }
}
