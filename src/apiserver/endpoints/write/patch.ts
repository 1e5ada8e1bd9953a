// The verb patch, except server-side apply.

import * as apierrors from '#machinery/apierrors.ts';
import { andThen } from '#machinery/awaitable.ts';
import { isLarge, nextTurn } from '#machinery/turn.ts';
import type { ObjectUpdate } from '../../registry/rest.ts';
import type { ApiRequest, ApiResponse } from '../../request.ts';
import { negotiate } from '../negotiation.ts';
import { parsePatchQuery } from '../query-options.ts';
import { notServed } from '../read.ts';
import type { Scope } from '../scope.ts';
import { handleApply } from './apply.ts';
import { inTurns, type Smaller, smallerIfTooLarge } from './large-objects.ts';
import { decodePatched } from './patched-object.ts';
import { checkPatchType, isApplyPatch, readPatch } from './patching.ts';
import { emptiesManagedFields, type Wanted, Write } from './write.ts';

export async function handlePatch(scope: Scope, request: ApiRequest): Promise<ApiResponse> {
  const { rest } = scope;
  if (rest.update === undefined || rest.get === undefined) throw notServed();
  checkPatchType(request, scope.codec);
  const negotiated = negotiate(request, { transforms: true, codec: scope.codec });
  const apply = isApplyPatch(request);
  const write = new Write(scope, request, parsePatchQuery(request.query, { apply }));
  if (apply) return handleApply(write, negotiated);
  const patch = await readPatch(request, scope.codec);
  const warnings = request.warnings.length;
  const updateWith = (smaller: Smaller): ObjectUpdate => ({
    apply: (current) => {
      if (current === undefined) throw apierrors.notFound(scope.type, request.info.name);
      // Warnings of an attempt with a conflict are not repeated.
      request.warnings.length = warnings;
      const wanted = (raw: Record<string, unknown>, large: boolean): Wanted => ({
        object: write.named(decodePatched(write, raw, current, patch)),
        large,
        resetsOwners: emptiesManagedFields(raw),
      });
      const inSteps = async (raw: Record<string, unknown>): Promise<Wanted> => {
        await nextTurn();
        const decoded = wanted(raw, true);
        await nextTurn();
        return decoded;
      };
      const patched = inTurns(patch.large, () =>
        patch.apply(current as unknown as Record<string, unknown>),
      );
      const decoded = andThen(patched, (raw) => (isLarge(raw) ? inSteps(raw) : wanted(raw, false)));
      return andThen(
        andThen(decoded, (ready) => write.replacement(current, ready)),
        smaller,
      );
    },
  });
  const options = { ...write.updateOptions(), forceAllowCreate: false };
  return smallerIfTooLarge((smaller) => write.store(negotiated, updateWith(smaller), options));
}
