import type { ButtonTexts } from '../button-texts.ts'

export const es: ButtonTexts = {
  opening: 'Estamos preparando su pago…',
  goOn: 'Continuar con el pago',
  failedTitle: 'No se puede iniciar el pago',
  wrongSetUp: 'El botón de la tienda no está bien configurado. Avise a la tienda.',
  unknownButton: 'Este botón ya no existe. Vuelva a la tienda, por favor.',
  paidTitle: 'Ya hay un pago para esta compra',
  paid: 'Ha llegado, se está confirmando o se está revisando. No pague otra vez; la tienda recibirá el aviso.',
  later: 'Ahora mismo no hay un tipo de cambio actualizado. Inténtelo de nuevo en un minuto.',
  tryAgain: 'Intentarlo de nuevo',
  newPage: 'El siguiente paso se abre en su propia página. Después vuelva aquí; esta página se actualiza sola.',
  openPage: 'Abrir la página',
  elsewhereTitle: 'El pago se abre en su propia página',
  elsewhere: 'Aquí, dentro de esta página, no se puede mostrar.',
  elsewhereHint: (website, here) => `configurado para ${website}, abierto en ${here}`,
}
