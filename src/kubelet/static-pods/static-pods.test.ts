import { expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { makePod } from '../testing/make-pod.ts';
import type { Pod } from '../types.ts';
import type { MirrorPods } from './mirror-pods.ts';
import { StaticPods, type StaticPodSource } from './static-pods.ts';

const podOf = (name: string, uid = name): Pod => makePod({ metadata: { name, uid } });

/** A source that returns what the test sets. */
class FakeSource implements StaticPodSource {
  readonly name = 'fake';
  readonly checkMs = 1000;
  pods: readonly Pod[] | Error = [];

  read(): Promise<readonly Pod[]> {
    return this.pods instanceof Error ? Promise.reject(this.pods) : Promise.resolve(this.pods);
  }
}

function start(...sources: readonly FakeSource[]) {
  const clock = new VirtualClock();
  const changes: string[] = [];
  const mirrors = {
    all: () => [podOf('left')],
    seen: () => undefined,
    delete: (pod: Pod) => {
      changes.push(`unmirror ${pod.metadata.name}`);
      return Promise.resolve();
    },
  } as unknown as MirrorPods;
  const stopping = new AbortController();
  const pods = new StaticPods({
    clock,
    logger: silentLogger,
    mirrors,
    sources,
    onAdd: ({ metadata }) => changes.push(`add ${metadata.name}`),
    onRemove: ({ metadata }) => changes.push(`remove ${metadata.name}`),
  });
  return { clock, changes, pods, run: () => void pods.run(stopping.signal), stopping };
}

test('a source that fails keeps its pods, and does not affect the others', async () => {
  const [good, bad] = [new FakeSource(), new FakeSource()];
  good.pods = [podOf('a')];
  bad.pods = [podOf('b')];
  const { clock, changes, pods, run, stopping } = start(good, bad);
  await pods.load();
  expect(changes).toEqual(['add a', 'add b', 'unmirror left']);
  changes.length = 0;
  run();
  bad.pods = new Error('503');
  good.pods = [];
  await clock.advance('1s');
  expect(changes).toEqual(['remove a', 'unmirror a']);
  bad.pods = [podOf('b'), podOf('c')];
  await clock.advance('1s');
  expect(changes.slice(2)).toEqual(['add c']);
  stopping.abort();
});

test('until all sources have been read, mirrors stay', async () => {
  const [good, bad] = [new FakeSource(), new FakeSource()];
  bad.pods = new Error('no route to host');
  const { clock, changes, pods, run, stopping } = start(good, bad);
  await pods.load();
  expect(pods.areAllRead).toBe(false);
  expect(changes).toEqual([]);
  run();
  bad.pods = [podOf('left')];
  await clock.advance('1s');
  expect(pods.areAllRead).toBe(true);
  expect(changes).toEqual(['add left']);
  stopping.abort();
});
