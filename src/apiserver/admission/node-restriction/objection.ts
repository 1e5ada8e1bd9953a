// The shape of what a rule for nodes says.

import type { Authorizer } from '#apiserver/authorization/authorizer.ts';
import type { Find } from '#apiserver/catalog/internal-client.ts';
import type { AdmissionAttributes } from '../plugin.ts';

/** Why not; undefined if nothing speaks against it. */
export type Objection = string | undefined;

export interface NodeRequest {
  readonly attributes: AdmissionAttributes;
  /** Who asks. */
  readonly node: string;
  readonly services: { readonly find: Find; readonly authorizer: Authorizer };
}
