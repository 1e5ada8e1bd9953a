// CPU rates from CPU times. Nothing is measured in the background: a rate spans the time since an
// earlier request, so the first request has none, as upstream's has before its second measurement.

interface Measurement {
  /** Wall-clock ms. */
  readonly time: number;
  readonly nanoseconds: number;
}

interface Entry {
  latest: Measurement;
  /** At least MIN_MS before the latest. */
  previous: Measurement | undefined;
  isSeen: boolean;
}

/** The shortest and the longest time that a rate spans, in ms: of requests once a second. */
const MIN_MS = 900;
const MAX_MS = 60_000;

export class UsageRates {
  readonly #entries = new Map<string, Entry>();

  /**
   * Records the CPU time of a container, a pod or the node. Returns the rate in nanoseconds per
   * second; undefined if there is no earlier measurement to compare with.
   */
  rate(id: string, time: number, nanoseconds: number): number | undefined {
    let entry = this.#entries.get(id);
    if (entry === undefined || nanoseconds < entry.latest.nanoseconds) {
      entry = { latest: { time, nanoseconds }, previous: undefined, isSeen: true };
      this.#entries.set(id, entry);
      return undefined;
    }
    entry.isSeen = true;
    if (time - entry.latest.time >= MIN_MS) {
      entry.previous = entry.latest;
      entry.latest = { time, nanoseconds };
    }
    const { previous } = entry;
    if (previous === undefined) return undefined;
    const elapsed = time - previous.time;
    if (elapsed < MIN_MS || elapsed > MAX_MS) return undefined;
    return Math.round(((nanoseconds - previous.nanoseconds) / elapsed) * 1000);
  }

  /** Forgets what was not recorded since the last call. */
  sweep(): void {
    for (const [id, entry] of this.#entries) {
      if (!entry.isSeen) this.#entries.delete(id);
      entry.isSeen = false;
    }
  }
}
