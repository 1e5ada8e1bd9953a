import { expect, test } from 'vitest';

import { SeededRandom } from '#machinery/random.ts';
import { type ChangedPlace, concerns, type Place, SubscriberIndex } from './subscriber-index.ts';

interface Subscriber {
  readonly id: number;
  readonly place: Place;
}

const place = (more: Partial<Place>): Place => ({
  namespace: '',
  name: '',
  value: undefined,
  ...more,
});

function concerned(index: SubscriberIndex<Subscriber>, change: ChangedPlace): number[] {
  const ids: number[] = [];
  index.forEachConcerned(change, ({ id }) => ids.push(id));
  return ids.sort((a, b) => a - b);
}

test('a change is delivered once to each subscriber that it may concern, and to no others', () => {
  const random = new SeededRandom('subscribers');
  const any = <T>(...of: readonly T[]): T => of[random.int(of.length)] as T;
  const index = new SubscriberIndex<Subscriber>();
  const subscribers = new Set<Subscriber>();
  for (let id = 0; id < 2000; id++) {
    const [first] = subscribers;
    if (first !== undefined && random.int(3) === 0) {
      index.delete(first);
      subscribers.delete(first);
    } else {
      const kinds = [
        place({ namespace: any('', 'a', 'b') }),
        place({ namespace: any('', 'a', 'b'), name: any('x', 'y') }),
        place({ namespace: any('', 'a', 'b'), value: any('', 'node-1', 'node-2') }),
      ];
      const subscriber = { id, place: any(...kinds) };
      index.add(subscriber);
      subscribers.add(subscriber);
    }
    const change = {
      namespace: any('', 'a', 'b', 'c'),
      name: any('x', 'y', 'z'),
      values: any<readonly string[]>([], [''], ['node-1'], ['', 'node-2'], ['node-3']),
    };
    const expected = [...subscribers]
      .filter((each) => concerns(change, each.place))
      .map((each) => each.id);
    expect(concerned(index, change)).toEqual(expected.sort((a, b) => a - b));
    expect(index.size).toBe(subscribers.size);
  }
  expect(new Set(index)).toEqual(subscribers);
  for (const subscriber of subscribers) expect(index.has(subscriber)).toBe(true);
  index.clear();
  expect([...index]).toEqual([]);
  expect(index.size).toBe(0);
});

test('removing a missing subscriber or adding a present one changes nothing', () => {
  const index = new SubscriberIndex<Subscriber>();
  const subscriber = { id: 1, place: place({ namespace: 'a', name: 'x' }) };
  index.delete(subscriber);
  index.add(subscriber);
  index.add(subscriber);
  expect(index.size).toBe(1);
  expect(index.has({ ...subscriber })).toBe(false);
  index.delete({ ...subscriber });
  expect(concerned(index, { namespace: 'a', name: 'x', values: [] })).toEqual([1]);
});

test('a subscriber that leaves during a delivery does not affect the others', () => {
  const index = new SubscriberIndex<Subscriber>();
  for (let id = 0; id < 3; id++) index.add({ id, place: place({ namespace: 'a' }) });
  const ids: number[] = [];
  index.forEachConcerned({ namespace: 'a', name: 'x', values: [] }, (subscriber) => {
    ids.push(subscriber.id);
    index.delete(subscriber);
  });
  expect(ids).toEqual([0, 1, 2]);
  expect(index.size).toBe(0);
});
