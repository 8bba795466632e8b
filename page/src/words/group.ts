// Names of groups.

import type { Value } from '../api/types';
import { PROTOCOLS } from './value';

export const SERVICES: Record<number, string> = {
  21: 'ftp', 22: 'ssh', 23: 'telnet', 25: 'smtp', 53: 'dns', 67: 'dhcp', 80: 'http', 88: 'kerberos', 110: 'pop3', 123: 'ntp', 143: 'imap', 161: 'snmp', 179: 'bgp',
  389: 'ldap', 443: 'https', 445: 'smb', 465: 'smtps', 514: 'syslog', 587: 'submission', 636: 'ldaps', 853: 'dns over tls', 993: 'imaps', 995: 'pop3s', 1194: 'openvpn',
  1433: 'mssql', 3306: 'mysql', 3389: 'rdp', 4739: 'ipfix', 5060: 'sip', 5432: 'postgresql', 5672: 'amqp', 6379: 'redis', 8080: 'http', 8443: 'https', 9092: 'kafka', 51820: 'wireguard',
};

export interface Named {
  name: string;
  /** In dim letters behind it. */
  detail: string;
}

const text = (of: Value | undefined) => (of === null || of === undefined ? 'none' : String(of));
const protocolName = (of: Value | undefined) => PROTOCOLS[String(of)] ?? `protocol ${text(of)}`;

/** TCP, UDP and SCTP have ports; of others they are 0. */
const hasPorts = ({ protocol, port }: Record<string, Value>) => [6, 17, 132].includes(Number(protocol)) || (port !== 0 && port !== null && port !== undefined);

/** A group as a row of a table has it. */
export function named(by: string, key: Record<string, Value>): Named {
  if (by === 'port') {
    if (!hasPorts(key)) return { name: protocolName(key.protocol), detail: 'without ports' };
    const service = SERVICES[Number(key.port)];
    return { name: text(key.port), detail: [protocolName(key.protocol), service].filter(Boolean).join(' · ') };
  }
  if (by === 'protocol') return { name: protocolName(key.protocol), detail: PROTOCOLS[String(key.protocol)] ? text(key.protocol) : '' };
  if (by === 'conversation') return { name: `${text(key.addr_a)} ↔ ${text(key.addr_b)}`, detail: '' };
  return { name: Object.values(key).map(text).join(' '), detail: '' };
}

/** In one line: `443/tcp (https)`. */
export function label(by: string, key: Record<string, Value>): string {
  if (by !== 'port' || !hasPorts(key)) return named(by, key).name;
  const service = SERVICES[Number(key.port)];
  return `${text(key.port)}/${protocolName(key.protocol)}${service ? ` (${service})` : ''}`;
}
