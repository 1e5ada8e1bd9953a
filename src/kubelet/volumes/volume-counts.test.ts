import { expect, test } from 'vitest';
import { pluginNameOf, VolumeCounts } from './volume-counts.ts';

test('names of plugins', () => {
  expect(pluginNameOf({ name: 'a', emptyDir: {} })).toBe('kubernetes.io/empty-dir');
  expect(pluginNameOf({ name: 'a', configMap: { name: 'c' } })).toBe('kubernetes.io/configmap');
  expect(pluginNameOf({ name: 'a', csi: { driver: 'd.test' } })).toBe('kubernetes.io/csi:d.test');
  expect(pluginNameOf({ local: { path: '/a' } })).toBe('kubernetes.io/local-volume');
  expect(pluginNameOf({ name: 'a' })).toBe('N/A');
});

test('volumes count as wanted before they are mounted, and as mounted until they are not', () => {
  const counts = new VolumeCounts();
  const shown = () =>
    counts.counts().map(({ plugin, state, count }) => `${plugin} ${state} ${count}`);
  counts.want('p', 'a', 'x');
  counts.want('p', 'b', 'x');
  counts.want('q', 'a', 'y');
  counts.mounted('p', 'a');
  counts.mounted('p', 'a');
  expect(shown()).toEqual([
    'x actual_state_of_world 1',
    'x desired_state_of_world 2',
    'y desired_state_of_world 1',
  ]);
  counts.unwant('p');
  expect(shown()).toEqual(['x actual_state_of_world 1', 'y desired_state_of_world 1']);
  counts.unmounted('p');
  counts.unwant('q');
  expect(shown()).toEqual([]);
});
