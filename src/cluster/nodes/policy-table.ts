// The nftables table with the network policies of a data directory's node.

import { NftError, systemNft } from '#machinery/net/nft/index.ts';
import { policyTableName, type PolicyTableSettings, removePolicyTable } from '#network/index.ts';
import type { DataDirLayout } from '../data-dir/data-dir.ts';
import { isRoot } from '../machine/install.ts';

/** Returns what the node's network policies are programmed with: a table that no other node of this machine has. */
export function policyTableOf(
  { root }: DataDirLayout,
  podCidrs: readonly string[],
  bridge: string | undefined,
): PolicyTableSettings {
  return { table: policyTableName(root), podCidrs, ...(bridge !== undefined && { bridge }) };
}

/** Removes the table, if this process may. Idempotent. Rejects with NftError. */
export async function removePolicies({ root }: DataDirLayout): Promise<void> {
  if (process.platform !== 'linux' || !isRoot()) return;
  try {
    await removePolicyTable(systemNft(), policyTableName(root));
  } catch (error) {
    // Without nft, or a kernel with nftables, there are no rules either.
    if (
      !(
        error instanceof NftError &&
        (error.reason === 'NotInstalled' || error.reason === 'NotPermitted')
      )
    )
      throw error;
  }
}
