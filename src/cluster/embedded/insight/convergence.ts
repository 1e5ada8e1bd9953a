// Whether a cluster comes to rest, and if not, which clients keep writing.

import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import { VirtualClock, type Clock } from '#machinery/clock.ts';
import { formatDuration, toMilliseconds } from '#machinery/text/duration.ts';
import { diffOf, requestsOf } from './history.ts';
import type { RecordedChange, RecordedRequest, Recorder } from './recorder.ts';
import { type ChangeRecord, describeObject } from './records.ts';
import type { Convergence, ConvergeOptions, PersistentWrite } from './types.ts';

/**
 * So many writes that change nothing, of one client to one object within `quietFor`, mean that it
 * does not rest.
 */
const MANY_VAIN_WRITES = 3;
const MAX_DIFFS = 4;
/** An object that changes so often within one millisecond of a clock is written in a loop. */
const STORM = 300;
const WRITES: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete']);
const HEARTBEATS = /\.last(?:Heartbeat|Probe|Update)Time: /;

/** Lets time pass until nothing changes any more, or the timeout is over. */
export async function converge(
  recorder: Recorder,
  clock: Clock,
  { quietFor, timeout, ignore = () => false }: ConvergeOptions = {},
): Promise<Convergence> {
  const virtual = clock instanceof VirtualClock;
  const quietMs = toMilliseconds(quietFor ?? (virtual ? '2m' : '2s'));
  const timeoutMs = toMilliseconds(timeout ?? (virtual ? '30m' : '30s'));
  if (!(quietMs > 0)) throw new RangeError('quietFor must be more than 0');
  recorder.start();
  const began = clock.now();
  const pass = (ms: number): Promise<void> => (virtual ? clock.advance(ms) : clock.sleep(ms));
  const storm = stormIn(recorder);
  try {
    for (;;) {
      // A storm keeps a virtual clock from moving, until the controllers that make it stop.
      const stormed = await Promise.race([storm.begun, pass(quietMs).then(() => false)]);
      recorder.check();
      const since = clock.now() - quietMs;
      const recent = recentWrites(recorder, since, ignore);
      if (recent.length === 0) {
        const message = `the cluster has been at rest for ${formatDuration(quietMs)}`;
        const afterMs = Math.max(0, lastChange(recorder, began, ignore) - began);
        return { converged: true, afterMs, writes: [], message };
      }
      if (!stormed && clock.now() - began + quietMs <= timeoutMs) continue;
      const afterMs = clock.now() - began;
      const message = describe(recent, quietMs, afterMs);
      return { converged: false, afterMs, writes: recent, message };
    }
  } finally {
    storm.end();
  }
}

/** Waits until one object changes very often while time stands. */
function stormIn(recorder: Recorder): { readonly begun: Promise<true>; end(): void } {
  const counts = new Map<string, number>();
  let instant = Number.NaN;
  const begun = new Promise<true>((resolve) => {
    recorder.onChange = ({ key, timeMs }) => {
      if (timeMs !== instant) counts.clear();
      instant = timeMs;
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      if (count === STORM) resolve(true);
    };
  });
  return { begun, end: () => (recorder.onChange = undefined) };
}

/** Returns the time of the last change that counts; `began` if there is none since then. */
function lastChange(
  { log }: Recorder,
  began: number,
  ignore: (change: ChangeRecord) => boolean,
): number {
  for (const record of log.backwards()) {
    if (record.timeMs < began) break;
    if (record.type === 'change' && counts(record) && !ignore(record)) return record.timeMs;
  }
  return began;
}

function recentWrites(
  { log }: Recorder,
  since: number,
  ignore: (change: ChangeRecord) => boolean,
): readonly PersistentWrite[] {
  const changes: RecordedChange[] = [];
  const sent: RecordedRequest[] = [];
  for (const record of log.backwards()) {
    if (record.timeMs <= since) break;
    if (record.type === 'change') changes.unshift(record);
    if (record.type === 'request' && isWrite(record)) sent.push(record);
  }
  const requests = requestsOf(log, changes);
  const counting = changes.filter((change) => counts(change) && !ignore(change));
  const writes = [
    ...grouped(counting, (change) => `${requests.get(change)?.client ?? ''}\n${change.key}`),
  ].map((group) => persistent(requests.get(group[0] as RecordedChange)?.client, group));
  const effective = new Set(requests.values());
  const vain = sent.filter((request) => !effective.has(request));
  for (const group of grouped(vain, ({ client, path }) => `${client}\n${path}`)) {
    if (group.length < MANY_VAIN_WRITES) continue;
    const { client, path, verb, message: failure } = group[0] as RecordedRequest;
    writes.push({ client, object: `${verb} ${path}`, count: group.length, diffs: [], failure });
  }
  return writes.toSorted((a, b) => b.count - a.count);
}

function isWrite({ verb, dryRun, resource, subresource }: RecordedRequest): boolean {
  const isReport = resource === 'leases' || resource === 'events' || subresource === 'token';
  return WRITES.has(verb) && !dryRun && !isReport;
}

function grouped<T>(items: readonly T[], keyOf: (item: T) => string): Iterable<readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups.values();
}

function persistent(
  client: string | undefined,
  changes: readonly RecordedChange[],
): PersistentWrite {
  const diffs = new Map<string, readonly string[]>();
  for (const { change, object, previous } of changes) {
    const lines = change === 'MODIFIED' ? diffOf(previous, object) : [change];
    diffs.delete(lines.join('\n'));
    diffs.set(lines.join('\n'), lines);
  }
  const object = describeObject((changes.at(-1) as RecordedChange).object);
  const latest = [...diffs.values()].slice(-MAX_DIFFS);
  return { client, object, count: changes.length, diffs: latest, failure: undefined };
}

/** Reports whether a change is more than a sign of life or a report. */
function counts({ change, object, previous }: RecordedChange): boolean {
  const { kind, apiVersion } = object;
  if (kind === 'Lease' || kind === 'Event' || apiVersion === undefined) return false;
  return change !== 'MODIFIED' || !isHeartbeat(previous, object);
}

function isHeartbeat(
  before: Immutable<KubeObject> | undefined,
  { kind, ...object }: Immutable<KubeObject>,
): boolean {
  if (kind !== 'Node') return false;
  return diffOf(before, { kind, ...object }).every((line) => HEARTBEATS.test(line));
}

function describe(writes: readonly PersistentWrite[], quietMs: number, afterMs: number): string {
  const lines = writes.flatMap(({ client = 'the store', object, count, diffs, failure }) => [
    `${client} has written ${count} times: ${object}`,
    ...diffs.flatMap((diff) =>
      diff.map((line, index) => `  ${index === 0 && diffs.length > 1 ? '-' : ' '} ${line}`),
    ),
    ...(diffs.length > 0
      ? []
      : [failure === undefined ? '    nothing changes' : `    fails: ${failure}`]),
  ]);
  const [waited, window] = [formatDuration(afterMs), formatDuration(quietMs)];
  const head = `the cluster has not come to rest within ${waited}; in the last ${window}:`;
  return [head, ...lines].join('\n');
}
