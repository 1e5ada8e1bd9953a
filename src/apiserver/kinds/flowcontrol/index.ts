// The resources of the group flowcontrol.apiserver.k8s.io.

import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import { keepDangling } from './dangling.ts';
import { flowSchemaResource } from './flow-schema.ts';
import { priorityLevelConfigurationResource } from './priority-level-configuration.ts';

export function flowControlResources(services: RegistryServices): readonly Kind[] {
  return keepDangling(flowSchemaResource(services), priorityLevelConfigurationResource(services), services);
}
