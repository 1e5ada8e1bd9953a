// The type of pods. They are immutable, like all decoded objects.

import type * as core from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';

export type Pod = Immutable<core.Pod>;
