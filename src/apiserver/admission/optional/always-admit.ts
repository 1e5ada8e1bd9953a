// Admits everything: without an effect, for configurations that name it. Deprecated upstream.

import type { AdmissionPlugin } from '../plugin.ts';

export class AlwaysAdmit implements AdmissionPlugin {
  readonly name = 'AlwaysAdmit';
  readonly ignoresHeartbeats = true;

  concerns(): boolean {
    return false;
  }
}
