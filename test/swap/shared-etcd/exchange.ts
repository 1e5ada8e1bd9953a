// Objects that one API server writes to an etcd, and the other reads there, step by step.

import { isDeepStrictEqual } from 'node:util';
import { systemClock } from '#machinery/clock.ts';
import * as wait from '#machinery/wait.ts';
import type { Remote } from '../../differential/remote.ts';
import { removal } from '../../differential/shots.ts';
import type { KindManifest } from '../../e2e/kinds.ts';
import type { SharedEtcd } from './servers.ts';

/** Where the objects of a kind are. */
export interface Place {
  readonly collection: string;
  readonly apiVersion: string;
  readonly kind: string;
}

/** Called once for each comparison. `difference`: what differs; undefined: nothing does. */
export type ReportComparison = (what: string, difference: string | undefined) => void;

type Body = Readonly<Record<string, unknown>>;

interface KubeBody extends Body {
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** The servers see each other's writes a moment later. */
const TIMES = { clock: systemClock, intervalMs: 50, timeoutMs: 10_000 };
const DIFFERENCE_CHARACTERS = 600;

const get = (path: string) => ({ method: 'GET', path, type: '', body: '', changes: [] });
const send = (method: string, path: string, type: string, body: object) => ({
  method,
  path,
  type,
  body: JSON.stringify(body),
  changes: [],
});

/**
 * Creates the object through the writer, updates and deletes it through the reader, and applies a
 * change through the writer between these. After each step both return the same object, alone and
 * in a list. The object is gone at the end. Resolves with false if the writer rejects the object as
 * invalid.
 */
export async function exchange(
  { manifest }: KindManifest,
  { collection, apiVersion, kind }: Place,
  [writer, reader]: readonly [Remote, Remote],
  report: ReportComparison,
): Promise<boolean> {
  const { name } = manifest['metadata'] as { readonly name: string };
  const path = `${collection}/${name}`;
  const compare = (step: string): Promise<void> =>
    compareReads(path, step, [writer, reader], report);
  const done = (step: string, { code, body }: { code: number; body: unknown }): boolean => {
    const isDone = code < 300;
    report(`${path} ${step}`, isDone ? undefined : `${code} ${short(body)}`);
    return isDone;
  };
  const created = await writer.send(send('POST', collection, 'application/json', manifest));
  if (created.code === 422 || !done('create', created)) return false;
  await compare('after the create');
  const current = (await reader.send(get(path))).body as KubeBody;
  const { metadata } = current;
  const labels = { ...(metadata['labels'] as object | undefined), shared: 'yes' };
  const labelled = { ...current, metadata: { ...metadata, labels } };
  done('update', await reader.send(send('PUT', path, 'application/json', labelled)));
  await compare('after the update');
  const configuration = { apiVersion, kind, metadata: { name, annotations: { shared: 'yes' } } };
  const applyPath = `${path}?fieldManager=shared`;
  done(
    'apply',
    await writer.send(send('PATCH', applyPath, 'application/apply-patch+yaml', configuration)),
  );
  await compare('after the apply');
  const [deletion, ...rest] = removal({ collection, name, kind, manifest, mayUpdate: true });
  if (deletion !== undefined) done('delete', await reader.send(deletion));
  for (const shot of rest) if ((await writer.send(get(path))).code === 200) await reader.send(shot);
  await compare('after the deletion');
  const { code } = await writer.send(get(path));
  report(`${path} is gone`, code === 404 ? undefined : `${code}`);
  return true;
}

/** Compares what both return for the object, and for the list with it alone. */
async function compareReads(
  path: string,
  step: string,
  servers: readonly [Remote, Remote],
  report: ReportComparison,
): Promise<void> {
  const slash = path.lastIndexOf('/');
  const selector = encodeURIComponent(`metadata.name=${path.slice(slash + 1)}`);
  const list = `${path.slice(0, slash)}?fieldSelector=${selector}`;
  const read = async (server: Remote): Promise<unknown> => {
    const { code, body } = await server.send(get(path));
    const { items } = (await server.send(get(list))).body as { readonly items?: unknown };
    return { code, ...(code === 200 && { body }), items: items ?? [] };
  };
  let both: readonly unknown[] = [];
  const equal = async (): Promise<boolean> => {
    both = await Promise.all(servers.map(read));
    return isDeepStrictEqual(both[0], both[1]);
  };
  await untilTrue(equal);
  report(
    `${path} ${step}`,
    isDeepStrictEqual(both[0], both[1]) ? undefined : firstDifference(both[0], both[1]),
  );
}

/** Compares the events of the objects since a revision, as both servers send them. */
export async function compareWatches(
  collection: string,
  resourceVersion: string,
  names: ReadonlySet<string>,
  { ours, upstream }: SharedEtcd,
  report: ReportComparison,
): Promise<void> {
  const path = `${collection}?watch=1&timeoutSeconds=2&resourceVersion=${resourceVersion}`;
  const events = async (server: Remote): Promise<readonly unknown[]> =>
    (await server.wire({ path })).text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as { readonly type: string; readonly object: KubeBody })
      .filter(({ object }) => names.has(String(object.metadata['name'])));
  const [own, theirs] = await Promise.all([events(ours), events(upstream)]);
  const isEmpty = own?.length === 0 ? 'no events' : undefined;
  report(
    `${collection} watched`,
    isDeepStrictEqual(own, theirs) ? isEmpty : firstDifference(own, theirs),
  );
}

async function untilTrue(condition: () => Promise<boolean>): Promise<void> {
  try {
    await wait.pollImmediately(TIMES, condition);
  } catch (error) {
    // The caller reports what still differs.
    if (!(error instanceof wait.WaitTimeoutError)) throw error;
  }
}

/** Returns the path and both values of the first member that differs. */
function firstDifference(a: unknown, b: unknown, path = ''): string {
  const isObject = (value: unknown): value is Body => typeof value === 'object' && value !== null;
  if (isObject(a) && isObject(b))
    for (const key of new Set([...Object.keys(a), ...Object.keys(b)]))
      if (!isDeepStrictEqual(a[key], b[key]))
        return firstDifference(a[key], b[key], `${path}.${key}`);
  return `${path}: ${short(a)}, ${short(b)}`;
}

const short = (value: unknown): string =>
  (JSON.stringify(value) ?? 'undefined').slice(0, DIFFERENCE_CHARACTERS);
