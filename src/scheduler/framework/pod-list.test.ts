import fc from 'fast-check';
import { expect, test } from 'vitest';
import { makePodInfo } from '../testing/objects.ts';
import { PodList } from './pod-list.ts';

const pods = Array.from({ length: 8 }, (_, i) => makePodInfo(`p${i}`));

test('copies that change independently equal fully copied arrays', () => {
  const step = fc.record({
    list: fc.nat({ max: 20 }),
    kind: fc.constantFrom('copy' as const, 'push' as const, 'remove' as const),
    pod: fc.nat({ max: 7 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const lists = [{ list: new PodList(), like: [] as string[] }];
      for (const { list: index, kind, pod: podIndex } of steps) {
        const at = lists[index % lists.length]!;
        const pod = pods[podIndex]!;
        if (kind === 'copy') lists.push({ list: at.list.copy(), like: [...at.like] });
        else if (kind === 'push') {
          at.list.push(pod);
          at.like.push(pod.uid);
        } else {
          const found = at.like.indexOf(pod.uid);
          expect(at.list.remove(pod.uid)?.uid).toBe(found < 0 ? undefined : pod.uid);
          if (found >= 0) at.like.splice(found, 1);
        }
        for (const { list, like } of lists) {
          expect(list.length).toBe(like.length);
          expect([...list].map(({ uid }) => uid).sort()).toEqual([...like].sort());
        }
      }
    }),
  );
});

test('finds and removes only its own pods', () => {
  const list = new PodList();
  list.push(pods[0]!);
  const copy = list.copy();
  copy.push(pods[1]!);
  expect(list.some(({ uid }) => uid === pods[1]!.uid)).toBe(false);
  expect(list.filter(() => true)).toEqual([pods[0]]);
  expect(copy.filter(() => true)).toEqual([pods[0], pods[1]]);
  expect(() => list.at(1)).toThrow(RangeError);
});

test('a newer version of a pod replaces the older one in all copies', () => {
  const list = new PodList();
  list.push(pods[0]!);
  const copy = list.copy();
  copy.push(pods[1]!);
  const newer = makePodInfo('p0', { status: { message: 'newer' } });
  copy.replace(pods[0]!, newer);
  expect([[...list], [...copy]]).toEqual([[newer], [newer, pods[1]]]);
  list.replace(pods[1]!, pods[2]!);
  expect([...copy]).toEqual([newer, pods[1]]);
});
