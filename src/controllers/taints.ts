// Taints and tolerations, as controllers read them.

import type { Taint, Toleration } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';

export type ReadTaint = Immutable<Taint>;
export type ReadToleration = Immutable<Toleration>;

export const TAINT_NOT_READY = 'node.kubernetes.io/not-ready';
export const TAINT_UNREACHABLE = 'node.kubernetes.io/unreachable';
export const TAINT_UNSCHEDULABLE = 'node.kubernetes.io/unschedulable';
export const TAINT_MEMORY_PRESSURE = 'node.kubernetes.io/memory-pressure';
export const TAINT_DISK_PRESSURE = 'node.kubernetes.io/disk-pressure';
export const TAINT_PID_PRESSURE = 'node.kubernetes.io/pid-pressure';
export const TAINT_NETWORK_UNAVAILABLE = 'node.kubernetes.io/network-unavailable';
export const TAINT_OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';

/** Reports whether two taints are the same: equal key and effect. The value does not count. */
export function matchesTaint(
  a: Pick<ReadTaint, 'key' | 'effect'>,
  b: Pick<ReadTaint, 'key' | 'effect'>,
): boolean {
  return a.key === b.key && a.effect === b.effect;
}

/** Reports whether the toleration matches the taint, regardless of its tolerationSeconds. */
export function toleratesTaint(toleration: ReadToleration, taint: ReadTaint): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false;
  if (toleration.key && toleration.key !== taint.key) return false;
  switch (toleration.operator) {
    case undefined:
    case 'Equal':
      return (toleration.value ?? '') === (taint.value ?? '');
    case 'Exists':
      return true;
    case 'Gt':
    case 'Lt': {
      const [limit, value] = [integerOf(toleration.value), integerOf(taint.value)];
      if (limit === undefined || value === undefined) return false;
      return toleration.operator === 'Gt' ? value > limit : value < limit;
    }
    default:
      return false;
  }
}

function integerOf(text: string | undefined): bigint | undefined {
  return text !== undefined && /^-?[0-9]+$/.test(text) ? BigInt(text) : undefined;
}
