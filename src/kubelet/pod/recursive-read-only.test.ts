import { expect, test } from 'vitest';
import type { VolumeMount } from '../types.ts';
import { resolveRecursiveReadOnly } from './recursive-read-only.ts';

const mount = (fields: Partial<VolumeMount>): VolumeMount => ({
  name: 'data',
  mountPath: '/data',
  readOnly: true,
  ...fields,
});

test.each([
  [{}, true, false],
  [{ recursiveReadOnly: 'Disabled' }, true, false],
  [{ recursiveReadOnly: 'IfPossible' }, true, true],
  [{ recursiveReadOnly: 'IfPossible' }, false, false],
  [{ recursiveReadOnly: 'Enabled' }, true, true],
] as const)('%j, supported: %s', (fields, supported, expected) => {
  expect(resolveRecursiveReadOnly(mount(fields), supported)).toBe(expected);
});

test.each([
  [{ recursiveReadOnly: 'Enabled' }, false, 'supported by the runtime'],
  [{ recursiveReadOnly: 'Enabled', readOnly: false }, true, 'read-only'],
  [
    { recursiveReadOnly: 'IfPossible', mountPropagation: 'HostToContainer' },
    true,
    'compatible with propagation "HostToContainer"',
  ],
] as const)('%j, supported: %s, is rejected', (fields, supported, problem) => {
  expect(() => resolveRecursiveReadOnly(mount(fields), supported)).toThrow(
    new Error(`volume "data" requested recursive read-only mode, but it is not ${problem}`),
  );
});
