// The verb update.

import { andThen } from '#machinery/awaitable.ts';
import { isLarge } from '#machinery/turn.ts';
import type { ObjectUpdate } from '../../registry/rest.ts';
import type { ApiRequest, ApiResponse } from '../../request.ts';
import { negotiate } from '../negotiation.ts';
import { parseWriteQuery } from '../query-options.ts';
import { notServed } from '../read.ts';
import type { Scope } from '../scope.ts';
import { withoutDuplicateOwners } from './admitted-metadata.ts';
import { inTurns, type Smaller, smallerIfTooLarge } from './large-objects.ts';
import { Write } from './write.ts';

export async function handleUpdate(scope: Scope, request: ApiRequest): Promise<ApiResponse> {
  if (scope.rest.update === undefined) throw notServed();
  const negotiated = negotiate(request, { transforms: true, codec: scope.codec });
  const write = new Write(scope, request, parseWriteQuery(request.query, 'UpdateOptions'));
  const received = await write.receive();
  const object = withoutDuplicateOwners(write.named(received.object), request.warnings, false);
  const { uid } = object.metadata;
  const updateWith = (smaller: Smaller): ObjectUpdate => ({
    apply: (current) => {
      const large = received.large || isLarge(current);
      return inTurns(large, () =>
        andThen(write.replacement(current, { ...received, object, large }), smaller),
      );
    },
    // An object with a uid refers to that object, not to another one of the same name.
    ...(uid !== undefined && uid !== '' && { preconditions: { uid } }),
  });
  return smallerIfTooLarge((smaller) => write.store(negotiated, updateWith(smaller)));
}
