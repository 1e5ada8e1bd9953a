// Makes the flow schemas and priority levels that every cluster begins with, and puts right what has changed of them: always of the
// mandatory ones, of the suggested ones unless somebody has taken them over. Their annotation says whether somebody has.

import {
  AUTO_UPDATE_ANNOTATION,
  type BootstrapFlowSchema,
  type BootstrapPriorityLevel,
  FLOW_SCHEMAS,
  PRIORITY_LEVELS,
} from '#api/groups/flowcontrol/v1/bootstrap.ts';
import { flowSchemas, priorityLevelConfigurations } from '#api/groups/flowcontrol/v1/index.ts';
import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { semanticEqual } from '#machinery/deep.ts';

/** As much of an object as is looked at here. */
interface Kept {
  readonly metadata: {
    readonly generation?: number;
    readonly resourceVersion?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: object;
}

interface Access {
  get(name: string): Promise<Kept>;
  create(object: object): Promise<unknown>;
  patch(name: string, contentType: 'application/json-patch+json', patch: object): Promise<unknown>;
}

/** Safe to be run at every start. */
export async function keepFlowControlObjects(client: Client): Promise<void> {
  const levels = client.resource(priorityLevelConfigurations);
  const schemas = client.resource(flowSchemas);
  // The levels first: a schema that names none is dangling.
  await Promise.all(PRIORITY_LEVELS.map((wanted) => keep(levels, wanted)));
  await Promise.all(FLOW_SCHEMAS.map((wanted) => keep(schemas, wanted)));
}

async function keep(
  access: Access,
  wanted: BootstrapFlowSchema | BootstrapPriorityLevel,
): Promise<void> {
  const { name, spec } = wanted;
  const annotations = { [AUTO_UPDATE_ANNOTATION]: 'true' };
  const present = await existing(access, name);
  if (present === undefined) {
    try {
      await access.create({ metadata: { name, annotations }, spec });
    } catch (error) {
      // Another server has been faster.
      if (!apierrors.isAlreadyExists(error)) throw error;
    }
    return;
  }
  const { metadata, spec: current } = present;
  const annotation = metadata.annotations?.[AUTO_UPDATE_ANNOTATION];
  // Of the exempt level users may say how much of it others may have: that difference stays.
  const differs = !semanticEqual({ ...current, exempt: undefined }, { ...spec, exempt: undefined });
  const ours = annotation === undefined ? metadata.generation === 1 : annotation === 'true';
  const operations: object[] = [];
  if ((wanted.mandatory || ours) && differs)
    operations.push({ op: 'add', path: '/spec', value: withOwnExempt(spec, current) });
  if (wanted.mandatory && annotation !== 'true') {
    const value = { ...metadata.annotations, ...annotations };
    operations.push({ op: 'add', path: '/metadata/annotations', value });
  }
  try {
    // Also without one: then the server looks whether the status is right.
    await access.patch(name, 'application/json-patch+json', operations);
  } catch (error) {
    // Where nothing is to be changed, a webhook that cannot be called yet does not keep the server from starting.
    if (operations.length > 0 || !(error instanceof apierrors.StatusError)) throw error;
  }
}

async function existing(access: Access, name: string): Promise<Kept | undefined> {
  try {
    return await access.get(name);
  } catch (error) {
    if (apierrors.isNotFound(error)) return undefined;
    throw error;
  }
}

function withOwnExempt(spec: object, current: object): object {
  return 'exempt' in spec && 'exempt' in current ? { ...spec, exempt: current.exempt } : spec;
}
