// Runs the operator on the cluster of the kubeconfig, or of the pod that this runs in. One of
// several replicas is active.

import { connect } from 'coxswain/client';
import { runController } from 'coxswain/controller';
import { tenantOperator } from './operator.ts';

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());

const { client, namespace, close } = await connect({ userAgent: 'tenant-operator' });
await runController(tenantOperator, {
  client,
  signal: stop.signal,
  leaderElection: { namespace, name: 'tenant-operator' },
});
close();
