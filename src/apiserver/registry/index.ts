// Every resource that the API server serves. To add one: write its folder, and add it here.

import { configMapResource } from './core/config-map/index.ts';
import type { ServedResource } from './rest.ts';
import type { RegistryServices } from './services.ts';

export function buildRegistry(services: RegistryServices): readonly ServedResource[] {
  return [configMapResource(services)];
}
