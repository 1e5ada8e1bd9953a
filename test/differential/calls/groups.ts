// The groups of calls, by name. Each leaves nothing behind that another one sees.

import type { Kind } from '#apiserver/catalog/kind.ts';
import { admissionCalls } from './admission.ts';
import { applyCalls } from './apply.ts';
import type { Call } from './call.ts';
import { clientCalls } from './clients.ts';
import { clusterTableCalls } from './cluster-tables.ts';
import { constrainedCalls } from './constrained.ts';
import { everyKindCalls } from './every-kind.ts';
import { formCalls } from './forms.ts';
import { identityCalls } from './identities.ts';
import { listCalls } from './lists.ts';
import { ownershipCalls } from './ownership.ts';
import { patchCalls } from './patches.ts';
import { policyCalls } from './policies.ts';
import { quotaCalls } from './quotas.ts';
import { subresourceCalls } from './subresources.ts';
import { tableCalls } from './tables.ts';
import { transportCalls } from './transport.ts';
import { validationCalls } from './validation.ts';

/** `kinds`: those that are served. */
export const groupsOf = (kinds: readonly Kind[]): Readonly<Record<string, readonly Call[]>> => ({
  forms: formCalls,
  apply: applyCalls,
  patches: patchCalls,
  lists: listCalls,
  subresources: subresourceCalls,
  validation: validationCalls,
  admission: admissionCalls,
  clients: clientCalls,
  transport: transportCalls,
  identities: identityCalls,
  constrained: constrainedCalls,
  tables: tableCalls,
  'cluster-tables': clusterTableCalls,
  ownership: ownershipCalls,
  quotas: quotaCalls,
  policies: policyCalls,
  'every-kind': everyKindCalls(kinds),
});
