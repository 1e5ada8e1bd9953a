// Warnings about runtime classes: deprecated node labels.

import { nodeLabelWarning } from '#api/groups/core/v1/warnings.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as node from './types.ts';

export function runtimeClassWarnings({ scheduling }: Immutable<node.RuntimeClass>): string[] {
  return Object.keys(scheduling?.nodeSelector ?? {}).flatMap((label) => {
    const message = nodeLabelWarning(label);
    return message === undefined ? [] : [`scheduling.nodeSelector: ${message}`];
  });
}
