// Rates of the server's clients, from counts that grow. Pure.

export interface ClientCounts {
  readonly user: string;
  readonly userAgent: string;
  readonly reads: number;
  readonly writes: number;
  readonly failures: number;
  readonly watches: number;
  readonly openWatches: number;
  readonly events: number;
}

export interface TrafficLine {
  readonly time: string;
  readonly clients: readonly ClientCounts[];
}

/** Rates per second. */
export interface ClientRates {
  readonly key: string;
  readonly user: string;
  readonly userAgent: string;
  readonly reads: number;
  readonly writes: number;
  readonly failures: number;
  readonly events: number;
  readonly openWatches: number;
  /** Requests and events per second of the last minutes, the latest last. */
  readonly history: readonly number[];
}

const KEPT = 120;
const MAX_CLIENTS = 600;

interface Known {
  counts: ClientCounts;
  rates: ClientRates;
}

export class TrafficRates {
  readonly #known = new Map<string, Known>();
  #time = Number.NaN;

  /** Takes the next line: the first has all clients, later ones those that have changed. */
  add({ time, clients }: TrafficLine): readonly ClientRates[] {
    const now = Date.parse(time);
    const isFirst = Number.isNaN(this.#time);
    const seconds = isFirst ? 1 : Math.max(0.001, (now - this.#time) / 1000);
    this.#time = now;
    const changed = new Map(clients.map((counts) => [keyOf(counts), counts]));
    for (const [key, counts] of changed) {
      if (!this.#known.has(key) && this.#known.size < MAX_CLIENTS)
        this.#known.set(key, { counts: isFirst ? counts : zeroOf(counts), rates: idle(counts) });
    }
    for (const [key, known] of this.#known) {
      const counts = changed.get(key) ?? known.counts;
      known.rates = ratesOf(known, counts, seconds);
      known.counts = counts;
    }
    return [...this.#known.values()]
      .map(({ rates }) => rates)
      .sort((a, b) => sum(b.history) - sum(a.history) || (a.key < b.key ? -1 : 1));
  }
}

const keyOf = ({ user, userAgent }: ClientCounts): string => `${user}\n${userAgent}`;
const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

const zeroOf = (counts: ClientCounts): ClientCounts => ({
  ...counts,
  reads: 0,
  writes: 0,
  failures: 0,
  events: 0,
});

const idle = (counts: ClientCounts): ClientRates => ({
  key: keyOf(counts),
  user: counts.user,
  userAgent: counts.userAgent,
  reads: 0,
  writes: 0,
  failures: 0,
  events: 0,
  openWatches: counts.openWatches,
  history: [],
});

function ratesOf({ counts, rates }: Known, next: ClientCounts, seconds: number): ClientRates {
  // Counts fall when the server has started anew.
  const rate = (field: 'reads' | 'writes' | 'failures' | 'events'): number =>
    Math.max(0, next[field] - counts[field]) / seconds;
  const reads = rate('reads');
  const writes = rate('writes');
  const events = rate('events');
  return {
    ...rates,
    reads,
    writes,
    events,
    failures: rate('failures'),
    openWatches: next.openWatches,
    history: [...rates.history, reads + writes + events].slice(-KEPT),
  };
}
