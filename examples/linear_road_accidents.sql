-- AccSeg of the Linear Road benchmark: segments in which a car has reported one position four times running.
-- Thesis 6.11, figure 6.19, but for `LastRep.cid`: there `cid` alone could be that of either relation.

CREATE STREAM CarStr (
  cid BIGINT,
  xpos BIGINT,
  sid BIGINT,
  ts TIMESTAMP
) TIMESTAMP BY ts USING parquet OPTIONS (path 'data/car');

CREATE QUERY AccSeg AS
Select distinct sid From
 (Select LastRep.cid, sid From
   (CarStr [Partition By cid Rows 1]) as LastRep,
   (Select distinct cid From
    CarStr [Range 30 seconds]) as CurActiveCars
 Where LastRep.cid = CurActiveCars.cid)
 as CurCarSeg,
 (Select cid
 From CarStr [Partition By cid Rows 4]
 Group By cid
 Having count(distinct xpos) = 1 and count(*) = 4)
 as AccCars
Where CurCarSeg.cid = AccCars.cid;
