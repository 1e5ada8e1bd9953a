import { expect, test } from 'vitest';

import { Link, LinkedList } from './linked-list.ts';
import { SeededRandom } from '../random.ts';

class Member extends Link {
  readonly id: number;

  constructor(id: number) {
    super();
    this.id = id;
  }
}

test('keeps its members in order of arrival through additions and removals', () => {
  const random = new SeededRandom('linked-list');
  const list = new LinkedList<Member>();
  const model = new Set<Member>();
  const all = Array.from({ length: 50 }, (_, id) => new Member(id));
  for (let step = 0; step < 3000; step++) {
    const member = all[random.int(all.length)]!;
    if (random.int(2) === 0) expect(list.delete(member)).toBe(model.delete(member));
    else if (!model.has(member)) {
      list.add(member);
      model.add(member);
    }
    expect(list.size).toBe(model.size);
    expect([...list].map(({ id }) => id)).toEqual([...model].map(({ id }) => id));
  }
  list.clear();
  expect([list.size, [...list]]).toEqual([0, []]);
  for (const member of all) list.add(member);
  expect([...list]).toEqual(all);
});

test('iterates over the members at its beginning, without those removed before their turn', () => {
  const list = new LinkedList<Member>();
  const all = [0, 1, 2, 3].map((id) => new Member(id));
  for (const member of all) list.add(member);
  const seen: number[] = [];
  for (const member of list) {
    seen.push(member.id);
    list.delete(member);
    list.delete(all[2]!);
    list.add(new Member(10 + member.id));
  }
  expect(seen).toEqual([0, 1, 3]);
  expect([...list].map(({ id }) => id)).toEqual([10, 11, 13]);
});

test('rejects a link that is in a list', () => {
  const [one, other] = [new LinkedList<Member>(), new LinkedList<Member>()];
  const member = new Member(1);
  one.add(member);
  expect(() => other.add(member)).toThrow('already in a list');
  one.delete(member);
  other.add(member);
  expect([one.size, other.size]).toEqual([0, 1]);
});
