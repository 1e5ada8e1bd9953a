// Creates the flow schemas and priority levels of every cluster, and restores changed ones:
// mandatory ones always, suggested ones unless a user has taken them over, which their annotation
// shows.

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

/** The part of an object that this code needs. */
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
  create(object: object, options: typeof AS_MANAGER): Promise<unknown>;
  patch(
    name: string,
    contentType: 'application/json-patch+json',
    patch: object,
    options: typeof AS_MANAGER,
  ): Promise<unknown>;
}

/** Upstream's name for the writer of these objects. */
const AS_MANAGER = { fieldManager: 'api-priority-and-fairness-config-producer-v1' } as const;

/** Creates and restores the objects. Every start may call this. */
export async function keepFlowControlObjects(client: Client): Promise<void> {
  const levels = client.resource(priorityLevelConfigurations);
  const schemas = client.resource(flowSchemas);
  // The levels come first: a schema without its level would be dangling.
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
      await access.create({ metadata: { name, annotations }, spec }, AS_MANAGER);
    } catch (error) {
      // Another server has created it first.
      if (!apierrors.isAlreadyExists(error)) throw error;
    }
    return;
  }
  const { metadata, spec: current } = present;
  const annotation = metadata.annotations?.[AUTO_UPDATE_ANNOTATION];
  // Users may set the limits of the exempt level, so that difference stays.
  const differs = !semanticEqual({ ...current, exempt: undefined }, { ...spec, exempt: undefined });
  const isMaintained = annotation === undefined ? metadata.generation === 1 : annotation === 'true';
  const operations: object[] = [];
  if ((wanted.mandatory || isMaintained) && differs)
    operations.push({ op: 'add', path: '/spec', value: withOwnExempt(spec, current) });
  if (wanted.mandatory && annotation !== 'true') {
    const value = { ...metadata.annotations, ...annotations };
    operations.push({ op: 'add', path: '/metadata/annotations', value });
  }
  try {
    // A patch without operations makes the server recompute the status.
    await access.patch(name, 'application/json-patch+json', operations, AS_MANAGER);
  } catch (error) {
    // If nothing is to be changed, a webhook that cannot be reached yet does not prevent the start.
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
