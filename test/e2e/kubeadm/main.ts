// Builds the programs of kubeadm.test.ts: `npx tsx test/e2e/kubeadm/main.ts`.

import { ensureCommand, ensureEtcd } from '../../conformance/binaries.ts';

const progress = (text: string): void => console.log(text);
ensureCommand('kubeadm', progress);
ensureEtcd(progress);
