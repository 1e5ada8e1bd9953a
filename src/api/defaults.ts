// Which kinds have defaults. One line per kind.

import { setReplicaSetDefaults } from './apps/v1/defaults.ts';
import { setPodDefaults, setReplicationControllerDefaults, setSecretDefaults, setServiceDefaults } from './core/v1/defaults.ts';
import type { Scheme } from './scheme.ts';

export function addDefaulters(scheme: Scheme): void {
  const core = (kind: string) => ({ group: '', version: 'v1', kind });
  scheme.addDefaulter(core('Pod'), setPodDefaults);
  scheme.addDefaulter(core('ReplicationController'), setReplicationControllerDefaults);
  scheme.addDefaulter(core('Secret'), setSecretDefaults);
  scheme.addDefaulter(core('Service'), setServiceDefaults);
  scheme.addDefaulter({ group: 'apps', version: 'v1', kind: 'ReplicaSet' }, setReplicaSetDefaults);
}
