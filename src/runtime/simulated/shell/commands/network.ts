// Network commands. Simulated pods do not listen, so every connection fails with an error message.

import { complain, type CommandFunction } from '../process.ts';

function unreachable(code: number): CommandFunction {
  return async (process) => {
    await complain(process, 'network connections are not simulated');
    return code;
  };
}

export const networkCommands: Readonly<Record<string, CommandFunction>> = {
  // curl's exit code for a failed connection.
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
