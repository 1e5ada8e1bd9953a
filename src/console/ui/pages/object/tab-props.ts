// The properties of every tab of an object's page.

import type { KubeObject } from '../../data/live-object.ts';
import type { ResourceType } from '../../data/resource-type.ts';

export interface TabProps {
  readonly type: ResourceType;
  readonly object: KubeObject;
}
