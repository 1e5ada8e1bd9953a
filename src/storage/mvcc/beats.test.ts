// Beats that are made up for later, compared with single writes.

import { afterEach, describe, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import { formatMicroTime, formatTime } from '#machinery/text/time.ts';
import type { KeyValue, Storage, StorageEvent } from '../interface.ts';
import { createMemoryStorage } from '../memory/index.ts';
import { beatTemplate } from './beat-template.ts';

const KEYS = ['/beats/a', '/beats/b', '/beats/c', '/other/d'];
const PERIOD_MS = 10_000;

const valueAt = (key: string, at: number): Uint8Array =>
  Buffer.from(`${key} ${formatTime(at)} renewed ${formatMicroTime(at)} since 2026-01-01T00:00:00Z`);

const closing: Storage[] = [];
afterEach(async () => {
  for (const storage of closing.splice(0)) await storage.close();
});

interface Side {
  readonly clock: VirtualClock;
  readonly storage: Storage;
}

/** Beats by single writes, which the store takes over where it can. */
function startBeats({ clock, storage }: Side, key: string, phase: number): void {
  let previous: { value: Uint8Array; at: number } | undefined;
  const beat = async (): Promise<void> => {
    const at = clock.now();
    const value = valueAt(key, at);
    const { kv } = await storage.guaranteedUpdate(key, () => ({ action: 'put', value }));
    const latest = { value, at, revision: kv?.modRevision ?? 0 };
    const nextDue = clock.monotonic() + PERIOD_MS;
    const again = (due: number): void =>
      void clock.setTimer(due - clock.monotonic(), () => void beat());
    const taken =
      previous !== undefined &&
      storage.beats?.takeOver({
        key,
        previous,
        latest,
        nextDue,
        periodMs: PERIOD_MS,
        onReleased: (due) => {
          previous = undefined;
          again(due);
        },
      });
    previous = latest;
    if (!taken) again(nextDue);
  };
  clock.setTimer(phase, () => void beat());
}

function makeSide(lazy: boolean): Side {
  const clock = new VirtualClock({ lazy });
  const storage = createMemoryStorage({ clock, logger: silentLogger });
  closing.push(storage);
  KEYS.forEach((key, index) => startBeats({ clock, storage }, key, index * 2000 + 1.5));
  return { clock, storage };
}

/** Returns a state with its value, which may be made only now. */
const plain = ({ key, value, createRevision, modRevision }: KeyValue): KeyValue => ({
  key,
  value,
  createRevision,
  modRevision,
});

async function contentOf({ storage }: Side): Promise<unknown> {
  const now = await storage.list('/');
  const past: unknown[] = [];
  for (let back = 0; back < 400; back += 17) {
    const revision = Math.max(1, now.revision - back);
    past.push(
      await storage
        .list('/beats/', { revision })
        .then(({ items, ...page }) => ({ ...page, items: items.map(plain) }))
        .catch((error: { reason?: string }) => error.reason),
    );
  }
  const stream = storage.watch('/', { afterRevision: Math.max(1, now.revision - 60) });
  const events: StorageEvent[] = [];
  try {
    for await (const event of stream) {
      events.push(
        event.type === 'put'
          ? {
              ...event,
              kv: plain(event.kv),
              ...(event.previous !== undefined && { previous: plain(event.previous) }),
            }
          : event,
      );
      if (event.revision === now.revision) break;
    }
  } catch (error) {
    events.push((error as { reason: never }).reason);
  }
  stream.stop();
  return { now: { ...now, items: now.items.map(plain) }, past, events };
}

describe('beats', () => {
  test.each(['1', '2', '3'])('leave what single writes leave (%s)', async (seed) => {
    const random = new SeededRandom(seed);
    const sides = [makeSide(true), makeSide(false)] as const;
    for (let step = 0; step < 25; step++) {
      const ms = [random.int(3000), random.int(100_000), random.int(7_200_000)][random.int(3)];
      const key = [`/beats/x${random.int(3)}`, KEYS[random.int(4)]][random.int(2)] as string;
      for (const side of sides) {
        await side.clock.advance(ms ?? 0);
        const value = Buffer.from(`step ${step}`);
        await side.storage.guaranteedUpdate(key, () => ({ action: 'put', value }));
        await side.clock.advance(1);
      }
      expect(await contentOf(sides[0])).toEqual(await contentOf(sides[1]));
    }
  });

  test('come one by one while their prefix is observed', async () => {
    const { clock, storage } = makeSide(true);
    await clock.advance('1h');
    const timers = clock.pendingTimers;
    const end = storage.beats?.observe('/beats/');
    expect(clock.pendingTimers).toBe(timers + 3);
    const stream = storage.watch('/beats/');
    const revisions: number[] = [];
    const reading = (async () => {
      for await (const { revision } of stream) revisions.push(revision);
    })();
    await clock.advance('1m');
    stream.stop();
    await reading;
    expect(revisions).toHaveLength(18);
    end?.();
    await clock.advance('1m');
    expect(clock.pendingTimers).toBe(timers);
  });
});

describe('beatTemplate', () => {
  const at = (ms: number) => ({ value: valueAt('k', ms), at: ms });

  test('renders the value of another time', () => {
    const render = beatTemplate(at(1_767_225_600_000), at(1_767_225_610_250));
    expect(render?.at(1_767_229_999_001)).toEqual(valueAt('k', 1_767_229_999_001));
  });

  test('is not made if something else than times changes', () => {
    const first = at(1_767_225_600_000);
    const second = at(1_767_225_610_250);
    const value = Buffer.from(second.value);
    value[0] = 'j'.charCodeAt(0);
    expect(beatTemplate(first, { ...second, value })).toBeUndefined();
    expect(beatTemplate(first, { ...second, value: value.subarray(1) })).toBeUndefined();
  });
});
