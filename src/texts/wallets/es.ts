import type { WalletTexts } from '../wallet-texts.ts'

export const es: WalletTexts = {
  pay: 'Pagar con {wallet}',
  unnamed: 'el monedero de este navegador',
  connecting: 'Abra {wallet} y permita que esta página vea su dirección.',
  switching: 'Permita que {wallet} cambie a {network}.',
  confirming: 'Confirme {amount} USDC en {wallet}.',
  signing: 'Firme por {amount} USDC en {wallet}. No paga comisión de red.',
  sending: 'Enviado. Falta que {network} lo incluya en un bloque.',
  sent: 'Su pago ya está en {network}. Esta página lo confirmará enseguida; no pague otra vez.',
  slow: '{network} aún no ha incluido su pago. No pague otra vez, salvo que su monedero indique que ha fallado.',
  uncounted:
    'Su transacción está en {network}, pero su pago no ha llegado a este pedido. No pague otra vez, salvo que su monedero indique que ha fallado.',
  unread:
    'Envió {sum} USDC en {network} a {to}, pero el operador de esta tienda ya no lee {network}, así que esta página no puede confirmar su pago. No pague otra vez. Contacte con {shop} e indique el pedido {order} y su transacción.',
  retry: 'Ha fallado en mi monedero: pagar otra vez',
  underway:
    'El pago que firmó sigue en camino hacia {network} y puede cobrarse hasta las {time}. No pague otra vez antes de esa hora.',
  lapsed: '{network} no ejecutó a tiempo el pago que firmó, y ya no puede hacerlo. Puede pagar otra vez.',
  again: 'Pagar otra vez',
  stop: 'Dejar de esperar',
  transaction: 'Transacción',
  rejected: 'Lo ha rechazado en {wallet}. No se ha enviado nada.',
  locked:
    '{wallet} está bloqueado o ya tiene una solicitud abierta. Desbloquéelo, responda a la solicitud e inténtelo de nuevo.',
  wrongNetwork: '{wallet} está en otra red. Cambie a {network} e inténtelo de nuevo. No se ha enviado nada.',
  unknownNetwork: '{wallet} no conoce {network}. Añada esta red e inténtelo de nuevo. No se ha enviado nada.',
  tooLittle:
    'Esta cuenta tiene {have} USDC en {network} y hacen falta {amount}. Elija otra cuenta en {wallet} o pague de otra forma.',
  noFee:
    'Esta cuenta no tiene {coin} en {network} para la comisión de red. Añada un poco de {coin} o pague de otra forma. No se ha enviado nada.',
  reverted:
    'La red ha rechazado el pago: no ha salido ningún USDC de su cuenta. Inténtelo de nuevo o pague de otra forma.',
  refused:
    'El pago no se ha aceptado: no ha salido ningún USDC de su cuenta. Inténtelo de nuevo o pague de otra forma.',
  changed: 'El pedido ha cambiado entretanto y no se ha enviado nada. Compruebe el importe e inténtelo de nuevo.',
  failed:
    '{wallet} no responde como se esperaba. No se ha enviado nada. Inténtelo de nuevo o envíe el importe a la dirección de abajo.',
  unsure: 'Antes de volver a intentarlo, compruebe en {wallet} si el pago se ha enviado.',
  apps: 'Abrir esta página en su monedero',
}
