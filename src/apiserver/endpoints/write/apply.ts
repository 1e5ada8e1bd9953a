// Server-side apply, the only patch that creates missing objects.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { andThen, type Awaitable } from '#machinery/awaitable.ts';
import { isLarge, nextTurn, runStepsInTurns } from '#machinery/turn.ts';
import type { ObjectUpdate } from '../../registry/rest.ts';
import type { ApiResponse } from '../../request.ts';
import type { Negotiated } from '../negotiation.ts';
import { fieldManagerOf } from '../scope.ts';
import { yamlProblems } from '../strict-problems.ts';
import { inTurns } from './large-objects.ts';
import { decodePatched } from './patched-object.ts';
import { readApplyConfiguration } from './patching.ts';
import { withoutDeletion } from './request-object.ts';
import type { Write } from './write.ts';

export async function handleApply(write: Write, negotiated: Negotiated): Promise<ApiResponse> {
  const { scope, request, query } = write;
  const { clock } = scope.services;
  const config = await readApplyConfiguration(request, clock, scope.codec.keepsBigints);
  request.audit?.requestPatch(config.value);
  const warnings = request.warnings.length;
  const admitted = (
    current: KubeObject | undefined,
    raw: Record<string, unknown>,
    large: boolean,
  ): Awaitable<KubeObject> => {
    if (config.strictError !== undefined) reportDuplicates(write, config.strictError);
    const object = appliedObject(write, raw, current);
    return inTurns(large, () => write.admitted(current, object));
  };
  const update: ObjectUpdate = {
    apply: (current) => {
      // Warnings of an attempt with a conflict are not repeated.
      request.warnings.length = warnings;
      const fieldManager = fieldManagerOf(scope);
      const { fieldManager: manager, force } = query;
      if (!isLarge(config.value) && !isLarge(current)) {
        const applied = fieldManager.apply(current, config.value, manager, force);
        return andThen(applied, (raw) => admitted(current, raw, false));
      }
      const steps = fieldManager.applyInSteps(current, config.value, manager, force);
      return nextTurn()
        .then(() => runStepsInTurns(steps))
        .then(async (raw) => (await nextTurn(), admitted(current, raw, true)));
    },
  };
  // The parent of a subresource must exist.
  const options = { ...write.updateOptions(), forceAllowCreate: scope.subresource === '' };
  return write.store(negotiated, update, options);
}

/** Reports duplicate keys of the configuration as the request wants it. */
function reportDuplicates({ request, query }: Write, duplicates: string): void {
  if (query.fieldValidation === 'Strict') {
    throw apierrors.badRequest(
      `error strict decoding YAML: error converting YAML to JSON: ${duplicates}`,
    );
  }
  if (query.fieldValidation === 'Warn') request.warnings.push(...yamlProblems(duplicates, 'Warn'));
}

/** Returns the object that results from the configuration, decoded. */
function appliedObject(
  write: Write,
  raw: Record<string, unknown>,
  current: KubeObject | undefined,
): KubeObject {
  const { scope, request } = write;
  const decoded = decodePatched(write, raw, current);
  const { uid } = decoded.metadata;
  // This is checked before the name, since a request for one object may omit the name in its body.
  if (current === undefined && uid !== undefined && uid !== '') {
    const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
    throw apierrors.conflict(scope.type, request.info.name, why);
  }
  const applied = write.named(decoded);
  return current === undefined ? withoutDeletion(applied) : applied;
}
