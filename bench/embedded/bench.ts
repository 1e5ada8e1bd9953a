// Figures of clusters inside a program, one file each.

import { advance } from './advance.ts';
import { fork } from './fork.ts';
import { idle } from './idle.ts';
import { starts } from './starts.ts';

export interface EmbeddedOptions {
  /** Beside upstream's kube-apiserver and etcd, which are built where they are missing. */
  readonly upstream: boolean;
}

export async function embedded({ upstream }: EmbeddedOptions): Promise<void> {
  await advance();
  await starts({ clusters: Number(process.env.STARTS ?? 1000), upstream });
  await idle({ clusters: Number(process.env.CLUSTERS ?? 200) });
  await fork({
    pods: Number(process.env.PODS ?? 10_000),
    forks: Number(process.env.FORKS ?? 1000),
  });
}
