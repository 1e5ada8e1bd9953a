// Programs that would connect to others: simulated pods do not listen, so every connection fails,
// and says so.

import { complain, type CommandFunction } from '../process.ts';

function unreachable(code: number): CommandFunction {
  return async (process) => {
    await complain(process, 'network connections are not simulated');
    return code;
  };
}

export const networkCommands: Readonly<Record<string, CommandFunction>> = {
  // The code of curl for a connection that fails.
  curl: unreachable(7),
  wget: unreachable(1),
  nc: unreachable(1),
  ncat: unreachable(1),
  netcat: unreachable(1),
  telnet: unreachable(1),
  ping: unreachable(1),
  nslookup: unreachable(1),
  dig: unreachable(9),
};
