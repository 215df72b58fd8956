import { type Queryable, sql, type Tx } from '../db/db.ts'

export async function findPin(q: Queryable, userId: string): Promise<{ pinHash: string; changedAt: Date } | undefined> {
  return q.maybe(sql`select pin_hash, changed_at from till_pins where user_id = ${userId}`)
}

/** A new PIN unlocks the person on every device. */
export async function updatePin(tx: Tx, userId: string, pin: { pinHash: string; at: Date }): Promise<void> {
  await tx.run(sql`
    insert into till_pins (user_id, pin_hash, changed_at) values (${userId}, ${pin.pinHash}, ${pin.at})
    on conflict (user_id) do update set pin_hash = excluded.pin_hash, changed_at = excluded.changed_at`)
  await tx.run(sql`delete from till_pin_failures where user_id = ${userId}`)
}

/** The same PIN hashed with another key: unlocks no one, and does not overwrite a PIN that was changed meanwhile. */
export async function updatePinHash(tx: Tx, userId: string, before: string, next: string): Promise<void> {
  await tx.run(sql`update till_pins set pin_hash = ${next} where user_id = ${userId} and pin_hash = ${before}`)
}

/**
 * Counts a try before the PIN is checked, so that concurrent tries cannot exceed the limit.
 * @returns how many in a row, or undefined when the person is locked out on this device
 */
export async function insertPinTry(
  q: Queryable,
  { deviceId, userId }: { deviceId: string; userId: string },
  most: number,
): Promise<number | undefined> {
  const row = await q.maybe<{ wrong: number }>(sql`
    insert into till_pin_failures as f (device_id, user_id, wrong) values (${deviceId}, ${userId}, 1)
    on conflict (device_id, user_id) do update set wrong = f.wrong + 1 where f.wrong < ${most}::integer
    returning wrong`)
  return row?.wrong
}

export async function deletePinTries(tx: Tx, { deviceId, userId }: { deviceId: string; userId: string }) {
  await tx.run(sql`delete from till_pin_failures where device_id = ${deviceId} and user_id = ${userId}`)
}

/** For a try whose PIN was never compared. */
export async function updatePinTryTakenBack(
  q: Queryable,
  { deviceId, userId }: { deviceId: string; userId: string },
): Promise<void> {
  await q.run(sql`
    update till_pin_failures set wrong = wrong - 1
    where device_id = ${deviceId} and user_id = ${userId} and wrong > 0`)
}
