// Compares the metrics of two API servers: metrics that both publish must have the same type and
// the same labels.

import { readFileSync } from 'node:fs';

export interface Family {
  readonly type: string;
  /** The labels of all its samples, sorted. Undefined: it has no sample. */
  readonly labels: string | undefined;
  readonly stability: string;
}

/** Reads Prometheus' text form. */
function familiesOf(text: string): ReadonlyMap<string, Family> {
  const families = new Map<
    string,
    { type: string; labels: string | undefined; stability: string }
  >();
  for (const line of text.split('\n')) {
    const help = /^# HELP (\S+) (?:\[(\w+)\])?/.exec(line);
    if (help !== null) {
      families.set(help[1]!, { type: '', labels: undefined, stability: help[2] ?? '' });
      continue;
    }
    const type = /^# TYPE (\S+) (\w+)/.exec(line);
    if (type !== null) {
      const family = families.get(type[1]!);
      if (family !== undefined) family.type = type[2]!;
      continue;
    }
    const sample = /^([\w:]+)(?:\{(.*)\})? \S+/.exec(line);
    if (sample === null) continue;
    const family =
      families.get(sample[1]!) ?? families.get(sample[1]!.replace(/_(bucket|sum|count)$/, ''));
    if (family === undefined) continue;
    const labels = [...(sample[2] ?? '').matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g)].map(
      ([, name]) => name as string,
    );
    family.labels ??= labels
      .filter((name) => name !== 'le')
      .toSorted()
      .join(',');
  }
  return families;
}

/**
 * Metrics that a server publishes only with a file, with deprecated requests, or with controllers:
 * test/scenarios/metrics tests them.
 */
const NOT_HERE =
  /^(apiserver_storage_size_bytes|apiserver_requested_deprecated_apis|workqueue_.*)$/;

const absent = new Set(
  readFileSync(new URL('../scenarios/metrics/absent.tsv', import.meta.url), 'utf8')
    .split('\n')
    .map((line) => line.split('\t')[0]),
);

/** Returns the differences of metrics that upstream calls stable or beta, a line each. */
export function metricDifferences(ours: string, theirs: string): readonly string[] {
  const own = familiesOf(ours);
  return [...familiesOf(theirs)].flatMap(([name, { type, labels, stability }]) => {
    if (stability !== 'STABLE' && stability !== 'BETA') return [];
    const family = own.get(name);
    if (family === undefined)
      return labels === undefined || absent.has(name) || NOT_HERE.test(name)
        ? []
        : [`${name}: not published`];
    const found: string[] = [];
    if (family.type !== type) found.push(`${name}: ${family.type}, reference ${type}`);
    if (family.stability !== stability)
      found.push(`${name}: [${family.stability}], reference [${stability}]`);
    if (family.labels !== undefined && labels !== undefined && family.labels !== labels)
      found.push(`${name}: labels ${family.labels}, reference ${labels}`);
    return found;
  });
}
