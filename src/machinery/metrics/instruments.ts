// Counters and histograms as plain numbers. Recording costs next to nothing; only rendering costs
// time. The text is Prometheus' exposition format 0.0.4.

/** Returns bounds from `first` on, each `factor` times the one before. */
export function exponentialBuckets(
  first: number,
  factor: number,
  count: number,
): readonly number[] {
  return Array.from({ length: count }, (_, i) => first * factor ** i);
}

export class Counter {
  value = 0;
}

export class Histogram {
  readonly #bounds: readonly number[];
  /**
   * The number of values above the previous bound and up to the bound of the same index. The last
   * entry counts values above all bounds.
   */
  readonly #counts: number[];
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    // An array of numbers has a third of the memory of a short Float64Array.
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  /** Records a value. `times`: how often. Default: once. */
  observe(value: number, times = 1): void {
    const bounds = this.#bounds;
    let bucket = 0;
    while (bucket < bounds.length && value > bounds[bucket]!) bucket++;
    this.#counts[bucket] = this.#counts[bucket]! + times;
    this.#sum += value * times;
  }

  get count(): number {
    return this.#counts.reduce((total, count) => total + count, 0);
  }

  get sum(): number {
    return this.#sum;
  }

  /** Iterates over the bounds with the number of values up to each. */
  *cumulative(): Iterable<readonly [bound: number, count: number]> {
    let count = 0;
    for (let i = 0; i < this.#bounds.length; i++) {
      count += this.#counts[i]!;
      yield [this.#bounds[i]!, count];
    }
  }
}

/** The name, help text and labels of a family of metrics. */
export interface Description {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
}

/** A trie by label values. A look-up creates no text. */
interface Branch<T> {
  /** Absent in a leaf: thousands of kubelets in one process have a hundred leaves each. */
  next: Map<string, Branch<T>> | undefined;
  entry: { readonly values: readonly string[]; readonly instrument: T } | undefined;
}

/**
 * One instrument for each combination of label values. The values come from small closed sets,
 * never from users.
 */
export class Family<T> {
  readonly description: Description;
  readonly #make: () => T;
  readonly #root: Branch<T> = { next: undefined, entry: undefined };
  readonly #entries: { readonly values: readonly string[]; readonly instrument: T }[] = [];

  constructor(description: Description, make: () => T) {
    this.description = description;
    this.#make = make;
  }

  /**
   * Returns the instrument for `values`, which are in the order of the description's labels. The
   * same values return the same object.
   */
  with(...values: readonly string[]): T {
    let branch = this.#root;
    for (const value of values) {
      branch.next ??= new Map();
      let next = branch.next.get(value);
      if (next === undefined) {
        next = { next: undefined, entry: undefined };
        branch.next.set(value, next);
      }
      branch = next;
    }
    if (branch.entry === undefined) {
      branch.entry = { values, instrument: this.#make() };
      this.#entries.push(branch.entry);
    }
    return branch.entry.instrument;
  }

  entries(): Iterable<{ readonly values: readonly string[]; readonly instrument: T }> {
    return this.#entries;
  }
}

/**
 * A value with its labels. `timeMs`: wall-clock milliseconds of the measurement. Default: the time
 * of the read.
 */
export type Sample = readonly [values: readonly string[], value: number, timeMs?: number];

export function counterText(family: Family<Counter>): string {
  const samples = Array.from(family.entries(), ({ values, instrument }): Sample => [
    values,
    instrument.value,
  ]);
  return sampleText(family.description, 'counter', samples);
}

export function gaugeText(description: Description, samples: readonly Sample[]): string {
  return sampleText(description, 'gauge', samples);
}

/** Returns the text of a family whose values were measured elsewhere. */
export function sampleText(
  description: Description,
  type: 'counter' | 'gauge',
  samples: readonly Sample[],
): string {
  const { name, labels = [] } = description;
  const line = ([values, value, timeMs]: Sample): string =>
    `${name}${labelText(labels, values)} ${valueText(value)}${timeMs === undefined ? '' : ` ${Math.floor(timeMs)}`}\n`;
  return heading(description, type) + samples.map(line).join('');
}

/** Prometheus has a form of its own for infinite values. */
function valueText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value);
}

export function histogramText(family: Family<Histogram>): string {
  return histogramsText(family.description, [...family.entries()], true);
}

/**
 * Returns the text of histograms. `empty`: whether the text without a histogram has the heading.
 * Default: it is ''.
 */
export function histogramsText(
  description: Description,
  entries: readonly { readonly values: readonly string[]; readonly instrument: Histogram }[],
  empty = false,
): string {
  if (entries.length === 0 && !empty) return '';
  const { name, labels = [] } = description;
  let text = heading(description, 'histogram');
  for (const { values, instrument } of entries) {
    const line = (bound: string, count: number): string =>
      `${name}_bucket${labelText([...labels, 'le'], [...values, bound])} ${count}\n`;
    for (const [bound, count] of instrument.cumulative()) text += line(boundText(bound), count);
    const own = labelText(labels, values);
    text +=
      `${line('+Inf', instrument.count)}${name}_sum${own} ${instrument.sum}\n` +
      `${name}_count${own} ${instrument.count}\n`;
  }
  return text;
}

/**
 * Returns a bound as Go formats it, since the label is compared as text: '0.5', '1e-08', '1e+06'.
 */
export function boundText(bound: number): string {
  const [digits = '', exponentText = ''] = bound.toExponential().split('e');
  const exponent = Number(exponentText);
  if (bound === 0 || (exponent >= -4 && exponent < 6)) return String(bound);
  return `${digits}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
}

function heading({ name, help }: Description, type: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
}

function labelText(labels: readonly string[], values: readonly string[]): string {
  if (labels.length === 0) return '';
  const escaped = (value: string): string =>
    value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
  return `{${labels.map((label, i) => `${label}="${escaped(values[i] ?? '')}"`).join(',')}}`;
}

/** The metrics of a component's parts, in one text. */
export class Instruments {
  readonly #texts = new Map<string, () => string>();
  readonly #counters = new Map<string, Family<Counter>>();
  readonly #histograms = new Map<string, Family<Histogram>>();

  /** Returns the counters of this name. A second call returns the same counters. */
  counter(description: Description): Family<Counter> {
    return this.#family(this.#counters, description, () => new Counter(), counterText);
  }

  /**
   * Returns the histograms of this name. A second call returns the same histograms, with their
   * first bounds.
   */
  histogram(description: Description, bounds: readonly number[]): Family<Histogram> {
    return this.#family(this.#histograms, description, () => new Histogram(bounds), histogramText);
  }

  /**
   * Registers a gauge whose samples are collected when the metrics are read. A second registration
   * replaces the first.
   */
  gauge(description: Description, collect: () => readonly Sample[]): void {
    this.#texts.set(description.name, () => gaugeText(description, collect()));
  }

  /** Returns all families as text, sorted by name. Families without values are left out. */
  text(): string {
    const families = [...this.#texts]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, text]) => text());
    return families.filter((text) => text.split('\n').length > 3).join('');
  }

  #family<T>(
    families: Map<string, Family<T>>,
    description: Description,
    make: () => T,
    textOf: (family: Family<T>) => string,
  ): Family<T> {
    const present = families.get(description.name);
    if (present !== undefined) return present;
    const family = new Family(description, make);
    families.set(description.name, family);
    this.#texts.set(description.name, () => textOf(family));
    return family;
  }
}

/** Counts equal keys, for gauges. Each key is a list of label values. */
export function countSamples(keys: Iterable<readonly string[]>): readonly Sample[] {
  const counts = new Map<string, [values: readonly string[], count: number]>();
  for (const values of keys) {
    const id = JSON.stringify(values);
    const sample = counts.get(id);
    if (sample === undefined) counts.set(id, [values, 1]);
    else sample[1]++;
  }
  return [...counts.values()];
}
