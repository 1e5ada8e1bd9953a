import fc from 'fast-check';
import { expect, test } from 'vitest';
import { snapshotOf } from '../testing/handle.ts';
import { NodeInfo } from './node-info.ts';
import { layoutOf, NodeAnswers } from './node-memo.ts';
import { NodeToStatus } from './node-to-status.ts';
import type { Answer } from './plugin.ts';
import { Status } from './status.ts';

const ANSWERS: readonly Answer[] = [
  undefined,
  new Status('Unschedulable', ['a']),
  new Status('Unschedulable', ['b']),
  new Status('UnschedulableAndUnresolvable', ['c']),
];

test('returns the same for remembered results as for results that were set one by one', () => {
  let everywhere = 0;
  const size = 6;
  const nodes = Array.from({ length: size }, (_, i) => new NodeInfo(`n${i}`));
  const snapshot = snapshotOf(nodes);
  const check = (all: readonly number[], start: number, count: number, own: number): void => {
    const answers = new NodeAnswers<Answer>(layoutOf(snapshot), undefined);
    all.forEach((which, position) => answers.set(position, ANSWERS[which]));
    const [known, single] = [new NodeToStatus(), new NodeToStatus()];
    let refused = 0;
    for (let i = 0; i < count; i++) {
      const position = (start + i) % size;
      const answer = answers.get(position);
      if (answer === undefined) continue;
      single.set(nodes[position]!, answer);
      if (position === own) known.set(nodes[position]!, answer, position);
      else refused++;
    }
    known.setKnown({ snapshot, answers, start, count, refused, nominatedPosition: own });
    expect(known.size).toBe(single.size);
    expect(known.counts()).toEqual(single.counts());
    for (const { name } of nodes) expect(known.get(name), name).toBe(single.get(name));
    const positions = (statuses: NodeToStatus, code: Status['code']): ReadonlySet<number> => {
      const found = [7, 7, 7, 7, 7, 7, 7];
      return new Set(found.slice(0, statuses.positionsWith(code, snapshot, found)));
    };
    for (const code of ['Unschedulable', 'UnschedulableAndUnresolvable'] as const) {
      const found = positions(known, code);
      expect(found).toEqual(positions(single, code));
      expect(known.allWith(code, snapshot)).toBe(found.size === size);
      if (found.size === size) everywhere++;
    }
  };
  const position = fc.nat({ max: size - 1 });
  const kinds = fc.oneof(fc.constant([1, 2]), fc.constant([0, 1, 2, 3]));
  const all = kinds.chain((of) =>
    fc.array(fc.constantFrom(...of), { minLength: size, maxLength: size }),
  );
  fc.assert(
    fc.property(all, position, fc.nat({ max: size }), fc.oneof(fc.constant(-1), position), check),
    {
      numRuns: 300,
    },
  );
  expect(everywhere).toBeGreaterThan(0);
});
