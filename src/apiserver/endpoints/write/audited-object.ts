// Records the decoded object of a request in the audit log.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { nextTurn } from '#machinery/turn.ts';
import type { RequestAudit } from '../../request.ts';
import type { Scope } from '../scope.ts';

/** Resolves when the object is recorded. A `large` one takes turns of the event loop of its own. */
export async function recordObject(
  audit: RequestAudit,
  { codec }: Pick<Scope, 'codec'>,
  object: KubeObject,
  large: boolean,
): Promise<void> {
  audit.requestMetadata(object.metadata);
  if (!audit.records('Request')) return;
  if (large) await nextTurn();
  const json = codec.wireForm(object);
  if (large) await nextTurn();
  audit.requestObject(json);
  if (large) await nextTurn();
}
