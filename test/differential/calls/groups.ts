// The groups of calls, by name. Each leaves nothing behind that another one sees.

import { admissionCalls } from './admission.ts';
import { applyCalls } from './apply.ts';
import type { Call } from './call.ts';
import { formCalls } from './forms.ts';
import { listCalls } from './lists.ts';
import { patchCalls } from './patches.ts';
import { subresourceCalls } from './subresources.ts';
import { validationCalls } from './validation.ts';

export const groups: Readonly<Record<string, readonly Call[]>> = {
  forms: formCalls,
  apply: applyCalls,
  patches: patchCalls,
  lists: listCalls,
  subresources: subresourceCalls,
  validation: validationCalls,
  admission: admissionCalls,
};
