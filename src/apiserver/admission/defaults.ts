// The plugins that every API server runs, in their order.

import type { Clock } from '../../machinery/clock.ts';
import type { Find } from '../registry/find.ts';
import { NamespaceLifecycle } from './namespace-lifecycle.ts';
import type { AdmissionPlugin } from './plugin.ts';

export interface AdmissionServices {
  readonly find: Find;
  readonly clock: Clock;
}

export function defaultAdmissionPlugins(services: AdmissionServices): readonly AdmissionPlugin[] {
  return [new NamespaceLifecycle(services)];
}
