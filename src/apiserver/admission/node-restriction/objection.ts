// The result of a rule for nodes.

import type { Authorizer } from '#apiserver/authorization/authorizer.ts';
import type { Find } from '#apiserver/catalog/internal-client.ts';
import type { AdmissionAttributes } from '../plugin.ts';

/** The reason to reject the request; undefined if it is allowed. */
export type Objection = string | undefined;

export interface NodeRequest {
  readonly attributes: AdmissionAttributes;
  /** The name of the node that makes the request. */
  readonly node: string;
  readonly services: { readonly find: Find; readonly authorizer: Authorizer };
}
