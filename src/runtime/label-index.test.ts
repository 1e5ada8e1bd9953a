import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LabelIndex } from './label-index.ts';

test('candidates are all entries with the first label, in order, also for the first selector', () => {
  const label = fc.constantFrom('a', 'b');
  const labels = fc.dictionary(label, fc.constantFrom('1', '2'));
  const step = fc.oneof(
    fc.record({ do: fc.constant('add' as const), labels }),
    fc.record({ do: fc.constant('delete' as const), labels }),
    fc.record({ do: fc.constant('ask' as const), labels }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const index = new LabelIndex<{ labels: Record<string, string> }>((item) => item.labels);
      const like: { labels: Record<string, string> }[] = [];
      for (const { do: action, labels: given } of steps) {
        if (action === 'add') {
          const item = { labels: given };
          like.push(item);
          index.add(item);
        } else if (action === 'delete') {
          const [item] = like.splice(0, 1);
          if (item !== undefined) index.delete(item);
        } else {
          const [first] = Object.entries(given);
          const wanted = like.filter(
            (item) => first === undefined || item.labels[first[0]] === first[1],
          );
          expect([...index.candidates(given)]).toEqual(wanted);
        }
      }
    }),
  );
});
