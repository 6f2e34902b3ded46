"""Tools of the board library."""


def borrow(ctx, *, board_code: str, from_: str, remark: str = "none") -> dict:
    loan_id = ctx.new_id("loans")
    ctx.db.run(
        "INSERT INTO loans (loan_id, board_code, borrower, lent_at) VALUES (:loan_id, :board_code, :borrower, :now)",
        loan_id=loan_id,
        board_code=board_code,
        borrower=from_,
        now=ctx.now(),
    )
    if from_ == "nobody":
        ctx.reject("nobody", "Somebody has to borrow it.")
    if remark != "none":
        ctx.db.run(
            "UPDATE boards SET remark = :remark WHERE board_code = :board_code", remark=remark, board_code=board_code
        )
    return {"loan_id": loan_id}


def look(ctx, *, board_code: str | None = None) -> dict:
    boards = ctx.db.all(
        "SELECT board_code FROM boards WHERE :code IS NULL OR board_code = :code ORDER BY board_code", code=board_code
    )
    return {"boards": boards}
