// Kubeconfigs for other users of a local cluster: a new key, and a certificate of the cluster's authority.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { loadKubeconfig } from '#client/kubeconfig.ts';
import { systemClock } from '#machinery/clock.ts';
import { systemRandom } from '#machinery/random.ts';
import { dataDirLayout } from '../data-dir/data-dir.ts';
import { kubeconfigFor } from './kubeconfig.ts';
import { Pki } from './pki.ts';
import { UserError } from '../user-error.ts';

/** Names as certificates and RBAC rules can have them. */
const NAME = /^[\x21-\x7e]{1,63}$/;

/**
 * Returns a kubeconfig with which requests are those of the user, a member of the groups. Nothing is kept of it.
 * Throws UserError if the directory has no authority, or for a name that is none.
 */
export async function kubeconfigForUser(
  dataDir: string,
  user: string,
  groups: readonly string[],
): Promise<string> {
  for (const name of [user, ...groups])
    if (!NAME.test(name))
      throw new UserError(
        `${JSON.stringify(name)} is no name of a user or group: 1 to 63 printable ASCII characters without spaces`,
      );
  const layout = dataDirLayout(dataDir);
  if (!existsSync(join(layout.pki, 'ca.key')))
    throw new UserError(`there is no certificate authority in ${layout.pki}`);
  const { server } = await loadKubeconfig(layout.kubeconfig);
  const pki = await Pki.open({ clock: systemClock, random: systemRandom, dir: layout.pki });
  const { cert, key } = await pki.sign({
    commonName: user,
    organizations: [...groups],
    usage: 'client',
  });
  return kubeconfigFor({
    name: user,
    server,
    caCertificate: pki.caCertificate,
    clientCertificate: cert,
    clientKey: key,
  });
}
