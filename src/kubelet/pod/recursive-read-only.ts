// Mounts that make everything below them read-only, which only some runtimes can do.

import type { VolumeMount } from '../types.ts';

/**
 * Reports whether mounts below this one are read-only, too. `supported`: whether the runtime can do
 * that. Throws an error, with upstream's message, if the mount asks for it and cannot have it.
 */
export function resolveRecursiveReadOnly(mount: VolumeMount, supported: boolean): boolean {
  const { name, recursiveReadOnly = 'Disabled', readOnly, mountPropagation = 'None' } = mount;
  if (recursiveReadOnly === 'Disabled') return false;
  const fail = (problem: string): Error =>
    new Error(`volume "${name}" requested recursive read-only mode, but it is not ${problem}`);
  if (readOnly !== true) throw fail('read-only');
  if (mountPropagation !== 'None') throw fail(`compatible with propagation "${mountPropagation}"`);
  if (recursiveReadOnly === 'IfPossible') return supported;
  if (!supported) throw fail('supported by the runtime');
  return true;
}
